package drey.nexmark;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.Recording;
import drey.nexmark.measure.Probe;
import java.util.List;

/** Where the events of a run come from and where its changes go. */
interface Rung {

    /** What came of a run: rows read and written, and the changelog as far as this rung can tell. */
    record Outcome(long rowsIn, long rowsOut, ChangelogDigest digest, Recording recording) {}

    /** Gets the events ready, once, before anything is timed. */
    void prepare() throws Exception;

    /** Memory that the events take while they wait, in bytes. */
    long preparedBytes();

    /**
     * The query's statements over this rung's tables, the last one the INSERT.
     *
     * @param events how many to read, from the first
     * @param run a name that no other run in this JVM has
     * @param record the bucket of the digest to record, or -1
     */
    List<String> statements(Query query, long events, String run, int record) throws Exception;

    /** The clock is about to start. */
    void starting(Probe probe);

    /** Looks at what the run has left behind, and clears it away. */
    Outcome outcome(Query query, long events, String run, Probe probe) throws Exception;

    static Rung of(Options options) {
        return options.get("rung").equals("kafka")
                ? new KafkaRung(options)
                : new MemoryRung(options);
    }
}
