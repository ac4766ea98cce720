package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import drey.runtime.BatchOptions;

import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

class OptionsTest {

    private static final List<String> OPERATORS = List.of("deduplicate", "rank");

    @Test
    void batchOptionsAreRead() {
        Configuration configuration = new Configuration();
        assertThat(DreyOptions.batchOptions(configuration)).isEqualTo(BatchOptions.DEFAULT);

        configuration.setString("drey.batch.rows", "7");
        configuration.setString("drey.batch.bytes", "64 kb");
        configuration.setString("drey.batch.latency", "250 ms");
        assertThat(DreyOptions.batchOptions(configuration))
                .isEqualTo(new BatchOptions(7, 64 * 1024, 250));
    }

    @Test
    void batchOfMoreThanAnArrayHoldsIsCut() {
        Configuration configuration = new Configuration();
        configuration.setString("drey.batch.bytes", "8 gb");

        assertThat(DreyOptions.batchOptions(configuration).bytes()).isEqualTo(Integer.MAX_VALUE);
    }

    @Test
    void impossibleBatchIsRefused() {
        Configuration configuration = new Configuration();
        configuration.setString("drey.batch.rows", "-1");

        assertThatThrownBy(() -> DreyOptions.batchOptions(configuration))
                .isInstanceOf(ValidationException.class)
                .hasMessageContaining("drey.batch.rows must be from 1 to 1048576, is -1");
    }

    @Test
    void systemPropertyIsTheLowestLayer() {
        Configuration configuration = new Configuration();
        String key = DreyOptions.EXPLAIN.key();
        System.setProperty(key, "false");
        try {
            assertThat(DreyOptions.read(configuration, DreyOptions.EXPLAIN)).isFalse();
            configuration.setString(key, "true");
            assertThat(DreyOptions.read(configuration, DreyOptions.EXPLAIN)).isTrue();
        } finally {
            System.clearProperty(key);
        }
        assertThat(DreyOptions.read(new Configuration(), DreyOptions.EXPLAIN)).isTrue();
    }

    @Test
    void onlyOurPrefixIsLookedAt() {
        Configuration configuration = new Configuration();
        configuration.setString("dreyfus.enabled", "x");
        configuration.setString("drey.operator.rank.enabled", "false");
        configuration.setString("drey.operator.ranks.enabled", "false");

        assertThat(DreyOptions.unknown(configuration, OPERATORS))
                .containsExactly(
                        Map.entry("drey.operator.ranks.enabled", "drey.operator.rank.enabled"));
    }

    @Test
    void distanceCountsEdits() {
        assertThat(DreyOptions.distance("", "abc")).isEqualTo(3);
        assertThat(DreyOptions.distance("abc", "abc")).isZero();
        assertThat(DreyOptions.distance("kitten", "sitting")).isEqualTo(3);
    }

    @Test
    void versionsOfKnownLinesAreKnown() {
        assertThat(List.of("2.2.0", "2.2.1", "2.3.0", "2.3-SNAPSHOT", "2.2.1-vendor-7"))
                .allMatch(FlinkLine::isKnown);
        assertThat(List.of("1.20.1", "2.1.0", "2.20.0", "2.4.0", "3.2.2", "<unknown>"))
                .noneMatch(FlinkLine::isKnown);
    }

    /** The table of the README has each option with its default, and no other. */
    @Test
    void readmeListsTheOptions() throws IOException {
        Map<String, String> documented = new LinkedHashMap<>();
        Pattern row = Pattern.compile("\\| `(drey\\.[^`]+)` \\| `([^`]+)` \\|.*");
        for (String line : Files.readAllLines(Path.of("..", "README.md"))) {
            Matcher matcher = row.matcher(line);
            if (matcher.matches()) {
                documented.put(matcher.group(1), matcher.group(2));
            }
        }
        Map<String, String> options = new LinkedHashMap<>();
        for (ConfigOption<?> option : DreyOptions.all(List.of("<name>"))) {
            Configuration documentedDefault = new Configuration();
            assertThat(documented).containsKey(option.key());
            documentedDefault.setString(option.key(), documented.get(option.key()));
            assertThat((Object) DreyOptions.read(documentedDefault, option))
                    .as(option.key())
                    .isEqualTo(option.defaultValue());
            options.put(option.key(), documented.get(option.key()));
        }
        assertThat(documented).containsExactlyInAnyOrderEntriesOf(options);
    }
}
