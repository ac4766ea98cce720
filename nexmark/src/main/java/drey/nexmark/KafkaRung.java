package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.ChangelogDigest.Sameness;
import drey.nexmark.kafka.Topics;
import drey.nexmark.measure.Probe;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;

/**
 * JSON from a Kafka topic into another, exactly once: what is compared is what a reader of committed transactions finds.
 * Updating queries write by upsert-kafka, with their unique key as the primary key.
 */
final class KafkaRung implements Rung {

    private final Options options;

    KafkaRung(Options options) {
        this.options = options;
    }

    private String input() {
        return "events-%s-%s-%s-%s"
                .formatted(
                        options.number("events"),
                        options.number("rate"),
                        options.number("seed"),
                        options.parallelism());
    }

    private static String output(String run) {
        return "changes-" + ProcessHandle.current().pid() + "-" + run;
    }

    private Topics topics() {
        return new Topics(options.get("broker"));
    }

    /** Writes the events to the input topic, one partition for each of the source's splits, if it isn't there yet. */
    @Override
    public void prepare() throws Exception {
        try (Topics topics = topics()) {
            if (topics.exists(input())) {
                return;
            }
            topics.create(input(), options.parallelism());
        }
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(options.parallelism());
        StreamTableEnvironment tables = StreamTableEnvironment.create(env);
        tables.getConfig().set("table.local-time-zone", "UTC");
        tables.getConfig().set("drey.enabled", "false");
        Map<String, String> topic = new LinkedHashMap<>(json(input()));
        topic.put("sink.partitioner", "fixed");
        tables.executeSql(Query.events(MemoryRung.source(options, options.generator(), "load")));
        tables.executeSql(Query.sameEvents("topic", topic));
        try {
            tables.executeSql(
                            "INSERT INTO topic SELECT event_type, person, auction, bid FROM datagen")
                    .await();
        } finally {
            Probe.forget("load");
        }
    }

    @Override
    public long preparedBytes() {
        return 0;
    }

    @Override
    public List<String> statements(Query query, long events, String run, int record)
            throws Exception {
        Map<String, String> source = new LinkedHashMap<>(json(input()));
        source.put("scan.startup.mode", "earliest-offset");
        source.put("scan.bounded.mode", "specific-offsets");
        source.put("scan.bounded.specific-offsets", offsets(shares(events)));
        if (query == Query.SOURCE) {
            return query.statements(source, Map.of("connector", "blackhole"));
        }
        Map<String, String> sink = new LinkedHashMap<>();
        sink.put("connector", query.updating() ? "upsert-kafka" : "kafka");
        sink.put("topic", output(run));
        sink.put("properties.bootstrap.servers", options.get("broker"));
        if (query.updating()) {
            sink.put("key.format", "json");
            sink.put("value.format", "json");
        } else {
            sink.put("format", "json");
        }
        sink.put("sink.delivery-guarantee", "exactly-once");
        sink.put("sink.transactional-id-prefix", output(run));
        // Flink's own default is longer than a broker allows.
        sink.put("properties.transaction.timeout.ms", "600000");
        try (Topics topics = topics()) {
            topics.create(output(run), options.parallelism());
        }
        return query.updating()
                ? query.statementsWithKey(source, sink)
                : query.statements(source, sink);
    }

    /** Reading from the broker is a part of the run, and the connector doesn't tell when it begins. */
    @Override
    public void starting(Probe probe) {
        probe.started();
    }

    @Override
    public Outcome outcome(Query query, long events, String run, Probe probe) throws Exception {
        long rowsIn = Arrays.stream(shares(events)).sum();
        if (query == Query.SOURCE) {
            return new Outcome(rowsIn, rowsIn, null, null);
        }
        Sameness sameness = query.sameness(options.parallelism(), options.is("minibatch"));
        try (Topics topics = topics()) {
            boolean keyed = query.updating();
            ChangelogDigest digest = topics.digest(output(run), sameness, keyed);
            topics.delete(output(run));
            return new Outcome(rowsIn, digest.rows(), digest, null);
        }
    }

    private Map<String, String> json(String topic) {
        Map<String, String> with = new LinkedHashMap<>();
        with.put("connector", "kafka");
        with.put("topic", topic);
        with.put("properties.bootstrap.servers", options.get("broker"));
        with.put("format", "json");
        return with;
    }

    /** How many of the first events each partition holds. */
    private long[] shares(long events) throws Exception {
        try (Topics topics = topics()) {
            long[] sizes = topics.sizes(input());
            if (events >= options.number("events")) {
                return sizes;
            }
            return Arrays.stream(sizes)
                    .map(size -> Math.min(size, events / sizes.length))
                    .toArray();
        }
    }

    private static String offsets(long[] ends) {
        return IntStream.range(0, ends.length)
                .mapToObj(i -> "partition:%d,offset:%d".formatted(i, ends[i]))
                .collect(Collectors.joining(";"));
    }
}
