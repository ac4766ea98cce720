package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.RowType;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
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

    private static final class AggregateFile {
        final List<String> header = new ArrayList<>();
        final List<ScenarioFile.Event> events = new ArrayList<>();
        RowType input;
        RowType output;
        JsonNode spec;

        static AggregateFile read(Path path) throws IOException {
            AggregateFile file = new AggregateFile();
            for (String line : Files.readAllLines(path)) {
                if (line.startsWith("> ")) {
                    file.events.add(new ScenarioFile.Event(line.substring(2), new ArrayList<>()));
                } else if (file.events.isEmpty()) {
                    file.header(line);
                } else if (!line.isEmpty() && !line.startsWith("#")) {
                    file.events.get(file.events.size() - 1).output().add(line);
                }
            }
            return file;
        }

        void header(String line) throws IOException {
            header.add(line);
            if (line.startsWith("spec ")) {
                spec = JSON.readTree(line.substring(5));
            } else if (line.startsWith("input ")) {
                input = ScenarioFile.rowType(line.substring(6));
            } else if (line.startsWith("output ")) {
                output = ScenarioFile.rowType(line.substring(7));
            }
        }

        void write(Path path) throws IOException {
            List<String> lines = new ArrayList<>(header);
            for (ScenarioFile.Event e : events) {
                lines.add("> " + e.text());
                lines.addAll(e.output());
            }
            Files.write(path, lines);
        }
    }

    private static List<Path> files(String pattern) throws IOException {
        try (Stream<Path> all = Files.list(DIRECTORY)) {
            return all.filter(p -> p.getFileName().toString().matches(pattern)).sorted().toList();
        }
    }

    @TestFactory
    Stream<DynamicTest> everyScenarioIsFlinks() throws IOException {
        List<Path> files = files(".*_.*\\.txt");
        assertThat(files).hasSizeGreaterThan(17);
        return files.stream()
                .map(p -> DynamicTest.dynamicTest(p.getFileName().toString(), () -> verify(p)));
    }

    private static void verify(Path path) throws Exception {
        AggregateFile file = AggregateFile.read(path);
        List<List<String>> flink = play(file);
        for (int i = 0; i < file.events.size(); i++) {
            ScenarioFile.Event event = file.events.get(i);
            List<String> written = new ArrayList<>();
            for (String line : event.output()) {
                written.add(
                        ScenarioFile.format(
                                file.output,
                                ScenarioFile.kind(line),
                                ScenarioFile.parse(file.output, line)));
            }
            assertThat(written).as("event " + i + ": " + event.text()).isEqualTo(flink.get(i));
        }
    }

    /** What Flink's operator emits for each event. */
    private static List<List<String>> play(AggregateFile file) throws Exception {
        PlannedAggregate planned = new PlannedAggregate(file.spec, file.input, file.output);
        Log log = new Log(new Schema(file.output, new int[0], -1));
        List<List<String>> output = new ArrayList<>();
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
            h.setClock(0);
            h.start(null);
            long checkpoint = 0;
            for (ScenarioFile.Event event : file.events) {
                log.entries.clear();
                String[] words = event.text().split(" ", 2);
                switch (words[0]) {
                    case "now" -> h.setClock(Long.parseLong(words[1]));
                    case "watermark" -> h.processWatermark(Long.parseLong(words[1]));
                    case "flush" -> h.prepareSnapshotPreBarrier(++checkpoint);
                    default -> {
                        RowData row = ScenarioFile.parse(file.input, event.text());
                        row.setRowKind(ScenarioFile.kind(event.text()));
                        h.processElement(
                                new StreamRecord<>(
                                        new Schema(file.input, new int[0], -1).binary(row)));
                    }
                }
                List<String> rows = new ArrayList<>();
                for (Log.Entry e : log.entries) {
                    if (e.row() != null) {
                        rows.add(ScenarioFile.format(file.output, e.kind(), e.row()));
                    }
                }
                output.add(rows);
            }
        }
        return output;
    }

    @Test
    @EnabledIfSystemProperty(named = "drey.record", matches = "true")
    void record() throws Exception {
        for (Path path : files("recorded_.*\\.txt")) {
            AggregateFile file = AggregateFile.read(path);
            List<List<String>> output = play(file);
            for (int i = 0; i < output.size(); i++) {
                file.events.get(i).output().clear();
                file.events.get(i).output().addAll(output.get(i));
            }
            file.write(path);
        }
    }
}
