package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;
import drey.spec.RankSpec;
import drey.spec.RankSpec.Function;
import drey.spec.RankSpec.RankRange;
import drey.spec.RankSpec.SortField;

import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.operators.rank.RetractableTopNFunction;
import org.apache.flink.types.RowKind;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.LogManager;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.Logger;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.config.Property;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;

/** What Flink's Top-N counts and logs without failing, and ours too. */
class RankWarningsTest {

    private static final int ROWS = 40;

    /** Rows whose range ends elsewhere than their partition's: Flink's counter, under Flink's name. */
    @Test
    void countsOtherEndsOfTheRange() throws Exception {
        Ranking ranking = ranking(Function.APPEND_ONLY_TOP_N, new RankRange.Variable(4));
        List<Long> counts = new ArrayList<>();
        for (boolean stock : new boolean[] {true, false}) {
            try (Harness h = harness(ranking, stock)) {
                for (int i = 0; i < ROWS; i++) {
                    feed(h, ranking, RowKind.INSERT, row(1, i, 2 + i % 3));
                }
                h.endInput();
                counts.add(h.metrics().count("topn.invalidTopSize"));
            }
        }
        assertThat(counts).containsExactly(26L, 26L);
    }

    /** Flink logs each of them. Here they are counted, and logged when the number has doubled. */
    @Test
    void tellsOfRetractionsThatFindNothing() throws Exception {
        Ranking ranking = ranking(Function.RETRACTABLE_TOP_N, new RankRange.Constant(1, 3));
        for (boolean stock : new boolean[] {true, false}) {
            String logger =
                    stock ? RetractableTopNFunction.class.getName() : "drey.runtime.NativeMetrics";
            try (Lines lines = new Lines(logger);
                    Harness h = harness(ranking, stock)) {
                feed(h, ranking, RowKind.INSERT, row(1, 7, 0));
                for (int i = 0; i < ROWS; i++) {
                    feed(h, ranking, RowKind.DELETE, row(2, i, 0));
                    if (!stock) {
                        assertThat(h.metrics().value("drey.topn.unmatchedRetractions"))
                                .isEqualTo(i + 1L);
                    }
                }
                h.endInput();
                assertThat(h.log().entries).hasSize(1);
                if (stock) {
                    assertThat(lines.text).hasSize(ROWS);
                } else {
                    assertThat(lines.text)
                            .extracting(line -> line.substring(0, line.indexOf(' ')))
                            .containsExactly("1", "2", "4", "8", "16", "32");
                    assertThat(lines.text.get(0)).contains("retractions", "table.exec.state.ttl");
                }
            }
        }
    }

    private static Ranking ranking(Function function, RankRange range) {
        return new Ranking(
                new RankSpec(
                        function,
                        List.of(0),
                        List.of(new SortField(2, true, false)),
                        range,
                        List.of(),
                        false,
                        true,
                        0),
                1);
    }

    private static Harness harness(Ranking ranking, boolean stock) throws Exception {
        Log log = new Log(ranking.output(RankFunctionsParityTest.TYPE));
        var flink = ranking.stock(RankFunctionsParityTest.TYPE);
        Harness h =
                Harness.create(
                        stock
                                ? flink
                                : new NativeOperatorFactory(
                                        SimpleOperatorFactory.of(flink),
                                        ranking.spec().toJson(),
                                        List.of(RankFunctionsParityTest.TYPE),
                                        ranking.output(RankFunctionsParityTest.TYPE).type(),
                                        new BatchOptions(1, 1 << 20, 5)),
                        ranking.input(RankFunctionsParityTest.TYPE),
                        log,
                        null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY);
        h.start(null);
        return h;
    }

    private static void feed(Harness h, Ranking ranking, RowKind kind, GenericRowData row)
            throws Exception {
        BinaryRowData binary = ranking.input(RankFunctionsParityTest.TYPE).binary(row);
        binary.setRowKind(kind);
        h.processElement(new StreamRecord<>(binary));
    }

    private static GenericRowData row(int partition, long sort, int end) {
        StringData text = StringData.fromString("text");
        return GenericRowData.of(partition, text, sort, text, end, text);
    }

    /** What one logger has to say, from WARN up. */
    private static final class Lines implements AutoCloseable {

        private final List<String> text = new ArrayList<>();
        private final Logger logger;
        private final Level before;
        private final AbstractAppender appender;

        Lines(String name) {
            logger = (Logger) LogManager.getLogger(name);
            before = logger.getLevel();
            appender =
                    new AbstractAppender("lines", null, null, false, Property.EMPTY_ARRAY) {
                        @Override
                        public void append(LogEvent event) {
                            text.add(event.getMessage().getFormattedMessage());
                        }
                    };
            appender.start();
            logger.addAppender(appender);
            logger.setLevel(Level.WARN);
        }

        @Override
        public void close() {
            logger.removeAppender(appender);
            logger.setLevel(before);
        }
    }
}
