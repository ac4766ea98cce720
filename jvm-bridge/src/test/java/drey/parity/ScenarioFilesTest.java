package drey.parity;

import org.apache.flink.api.java.tuple.Tuple2;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.state.rocksdb.EmbeddedRocksDBStateBackend;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Holds the scenarios of the native tests against Flink: what a scenario says must come out of an event is what Flink's own
 * operator emits. So the native tests, which need no JVM, test against Flink all the same.
 *
 * <p>With {@code -Ddrey.record=true} the scenarios named {@code recorded_*} are written anew: seeded random events, and
 * what Flink makes of them.
 */
class ScenarioFilesTest {

    private static final Path DIRECTORY =
            Path.of(System.getProperty("basedir", "."), "../native/dedup/testdata").normalize();

    @TestFactory
    Stream<DynamicTest> everyScenarioIsFlinks() throws IOException {
        return ScenarioFile.each(DIRECTORY, ".*_.*\\.txt", 21, ScenarioFilesTest::verify);
    }

    private static void verify(Path path) throws Exception {
        ScenarioFile file = ScenarioFile.read(path);
        // Timers of equal time fire in the order of Flink's heap.
        file.verify(play(file), !file.deduplication().usesTimers());
    }

    /** What Flink's operator emits for each event. */
    private static List<List<String>> play(ScenarioFile file) throws Exception {
        Deduplication dedup = file.deduplication();
        Schema schema = new Schema(file.input(), file.keys(), file.rowtimeIndex());
        Log log = new Log(schema);
        try (Harness h =
                Harness.create(
                        dedup.stock(schema),
                        schema,
                        log,
                        dedup.heapDiffersFromRocks() ? new EmbeddedRocksDBStateBackend() : null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY)) {
            return file.play(h, log);
        }
    }

    @Test
    @EnabledIfSystemProperty(named = "drey.record", matches = "true")
    void record() throws Exception {
        List<Deduplication> variants = new ArrayList<>(Deduplication.all(0));
        variants.addAll(Deduplication.all(40));
        // What neither the number nor the flags of the rows tell apart is played once.
        variants.removeIf(d -> d.miniBatch() > 7 || d.generateUpdateBefore() != d.generateInsert());
        for (Deduplication dedup : variants) {
            SplittableRandom rng = new SplittableRandom(dedup.hashCode());
            Tuple2<Schema, ScenarioFile> generated = generate(dedup, rng);
            ScenarioFile file = generated.f1;
            file.record(play(file));
            file.write(DIRECTORY.resolve("recorded_" + name(dedup) + ".txt"));
        }
    }

    private static Tuple2<Schema, ScenarioFile> generate(Deduplication dedup, SplittableRandom rng)
            throws IOException {
        List<LogicalType> keyTypes = new ArrayList<>();
        for (int i = rng.nextInt(3); i >= 0; i--) {
            keyTypes.add(Schema.KEY_TYPES.get(rng.nextInt(Schema.KEY_TYPES.size())));
        }
        Schema schema = new Schema(keyTypes);
        Scenario scenario =
                new Scenario(
                        1,
                        (input, rowtime) -> schema.binary(schema.row(rng, 5, rowtime)),
                        new Scenario.Options(60, dedup.ttl(), 0),
                        rng);
        ScenarioFile file = new ScenarioFile();
        file.header(
                "# Recorded from Flink "
                        + EnvironmentInformation.getVersion()
                        + ", -Ddrey.record=true in ScenarioFilesTest. Not to be edited.");
        file.header("spec " + dedup.spec(schema));
        file.header("input " + ScenarioFile.fields(schema.type()));
        if (dedup.usesTimers()) {
            file.header("whole");
        }
        file.header("");
        while (scenario.hasNext()) {
            Scenario.Step step = scenario.next();
            String text = null;
            if (step instanceof Scenario.Row r) {
                text = ScenarioFile.format(schema.type(), RowKind.INSERT, r.row());
            } else if (step instanceof Scenario.WatermarkStep w) {
                text = "watermark " + w.timestamp();
            } else if (step instanceof Scenario.Clock c) {
                text = "now " + c.millis();
            } else if (step instanceof Scenario.Checkpoint && dedup.miniBatch() > 0) {
                text = "flush";
            }
            if (text != null) {
                file.events.add(new ScenarioFile.Event(text, new ArrayList<>()));
            }
        }
        return Tuple2.of(schema, file);
    }

    private static String name(Deduplication d) {
        return (d.miniBatch() > 0 ? "mini_batch_" : "")
                + (d.rowtime() ? "rowtime" : "proctime")
                + (d.keepLast() ? "_last" : "_first")
                + (d.outputInsertOnly() ? "_insert_only" : "")
                + (d.generateUpdateBefore() ? "" : "_upsert")
                + (d.compactChanges() ? "_compact" : "")
                + (d.ttl() > 0 ? "_ttl" : "");
    }
}
