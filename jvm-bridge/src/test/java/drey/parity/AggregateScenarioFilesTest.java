package drey.parity;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/**
 * Holds the scenarios of the native group aggregates against what Flink's exec nodes make of their specifications, as {@link
 * ScenarioFilesTest} does for deduplicate: message by message, whatever the clock does.
 *
 * <p>With {@code -Ddrey.record=true} what comes out is written anew into the scenarios named {@code recorded_*}, whose events
 * the native tests make ({@code go test ./native/agg -run TestRecordable -recordable}).
 */
class AggregateScenarioFilesTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path DIRECTORY =
            Path.of(System.getProperty("basedir", "."), "../native/agg/testdata").normalize();

    @TestFactory
    Stream<DynamicTest> everyScenarioIsFlinks() throws IOException {
        return ScenarioFile.each(DIRECTORY, ".*_.*\\.txt", 18, AggregateScenarioFilesTest::verify);
    }

    private static void verify(Path path) throws Exception {
        ScenarioFile file = ScenarioFile.read(path);
        file.verify(play(file), true);
    }

    /** What Flink's operator emits for each event. */
    private static List<List<String>> play(ScenarioFile file) throws Exception {
        PlannedAggregate planned =
                new PlannedAggregate(JSON.readTree(file.spec), file.input(), file.output);
        Log log = new Log(file.output);
        try (Harness h =
                Harness.create(
                        planned.operator(),
                        List.of(planned.selector()),
                        file.output,
                        log,
                        null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY,
                        false)) {
            return file.play(h, log);
        }
    }

    @Test
    @EnabledIfSystemProperty(named = "drey.record", matches = "true")
    void record() throws Exception {
        for (Path path : ScenarioFile.in(DIRECTORY, "recorded_.*\\.txt")) {
            ScenarioFile file = ScenarioFile.read(path);
            file.record(play(file));
            file.write(path);
        }
    }
}
