package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.generator.GeneratorConfig;
import drey.nexmark.measure.Probe;
import drey.nexmark.source.ReplayStore;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Events from memory or made on the way, changes into a digest or nowhere: all within the process. */
final class MemoryRung implements Rung {

    private final Options options;
    private boolean stays;

    MemoryRung(Options options) {
        this.options = options;
    }

    /** Makes the source stay when it has emitted everything, and with it the job. */
    MemoryRung staying() {
        stays = true;
        return this;
    }

    @Override
    public void prepare() {
        if (options.replay()) {
            ReplayStore.of(options.generator());
        }
    }

    @Override
    public long preparedBytes() {
        return options.replay() ? ReplayStore.of(options.generator()).bytes() : 0;
    }

    @Override
    public List<String> statements(Query query, long events, String run, int record) {
        return query.statements(source(events, run), sink(query, run, record));
    }

    /** The source starts the clock itself, with its first row. */
    @Override
    public void starting(Probe probe) {}

    @Override
    public Outcome outcome(Query query, long events, String run, Probe probe) {
        return new Outcome(probe.rowsIn(), probe.rowsOut(), probe.digest(), probe.recording());
    }

    private Map<String, String> source(long events, String run) {
        Map<String, String> with = source(options, options.generator().withEvents(events), run);
        if (stays) {
            with.put("stay", "true");
        }
        return with;
    }

    /** Options of the table that the benchmark's own source is. */
    static Map<String, String> source(Options options, GeneratorConfig generator, String run) {
        Map<String, String> with = new LinkedHashMap<>();
        with.put("connector", "nexmark");
        with.put("events.num", Long.toString(generator.events()));
        with.put("first-event.rate", options.get("rate"));
        with.put("seed", options.get("seed"));
        with.put("mode", options.replay() ? "replay" : "generate");
        with.put("run", run);
        if (options.number("pace") > 0) {
            with.put("pace", options.get("pace"));
        }
        return with;
    }

    private Map<String, String> sink(Query query, String run, int record) {
        Map<String, String> with = new LinkedHashMap<>();
        with.put("connector", options.get("sink"));
        if (options.get("sink").equals("digest")) {
            Sameness sameness = query.sameness(options.parallelism(), options.is("minibatch"));
            boolean keyed = sameness == Sameness.RESULT && query.updating();
            with.put("key", keyed ? query.uniqueKey() : query.key());
            with.put("changelog", options.get("changelog"));
            with.put("same", sameness.name());
            with.put("keyed-result", Boolean.toString(keyed));
            with.put("record", Integer.toString(record));
            with.put("run", run);
        }
        return with;
    }
}
