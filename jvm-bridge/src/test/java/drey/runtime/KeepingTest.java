package drey.runtime;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.datastream.DataStreamUtils;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.junit.jupiter.api.Test;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/** On chains as Flink makes them of operators that stand for ours and its neighbours. */
class KeepingTest {

    @Test
    void aSinkKeepsParts() {
        assertThat(keeping(true, rows -> rows.sinkTo(new DiscardingSink<>())))
                .isEqualTo(Keeping.PARTS);
        assertThat(
                        keeping(
                                true,
                                rows ->
                                        rows.map(row -> row)
                                                .returns(Types.LONG)
                                                .sinkTo(new DiscardingSink<>())))
                .isEqualTo(Keeping.PARTS);
    }

    @Test
    void keyedStateKeepsRowsHoweverFarBehind() {
        Consumer<DataStream<Long>> keyed =
                rows ->
                        DataStreamUtils.reinterpretAsKeyedStream(
                                        rows.map(row -> row).returns(Types.LONG), row -> row % 2)
                                .reduce(Long::sum)
                                .sinkTo(new DiscardingSink<>());
        assertThat(keeping(true, keyed)).isEqualTo(Keeping.ROWS);
        assertThat(
                        keeping(
                                true,
                                rows -> {
                                    rows.sinkTo(new DiscardingSink<>());
                                    keyed.accept(rows);
                                }))
                .isEqualTo(Keeping.ROWS);
    }

    @Test
    void anExchangeKeepsNothing() {
        assertThat(
                        keeping(
                                true,
                                rows ->
                                        rows.keyBy(row -> row % 2)
                                                .reduce(Long::sum)
                                                .sinkTo(new DiscardingSink<>())))
                .isEqualTo(Keeping.NOTHING);
    }

    @Test
    void withoutObjectReuseFlinkCopies() {
        assertThat(keeping(false, rows -> rows.sinkTo(new DiscardingSink<>())))
                .isEqualTo(Keeping.NOTHING);
    }

    /** A test's harness for one operator: nothing is known of who gets the rows. */
    @Test
    void theUnknownKeepsRows() {
        StreamConfig alone = new StreamConfig(new org.apache.flink.configuration.Configuration());
        assertThat(Keeping.of(alone, alone, true, getClass().getClassLoader()))
                .isEqualTo(Keeping.ROWS);
    }

    private static Keeping keeping(boolean objectReuse, Consumer<DataStream<Long>> behind) {
        StreamExecutionEnvironment env = StreamExecutionEnvironment.getExecutionEnvironment();
        env.setParallelism(1);
        behind.accept(env.fromSequence(1, 10).map(row -> row).returns(Types.LONG).name("ours"));
        ClassLoader loader = KeepingTest.class.getClassLoader();
        List<Keeping> found = new ArrayList<>();
        for (JobVertex vertex : env.getStreamGraph().getJobGraph().getVertices()) {
            StreamConfig head = new StreamConfig(vertex.getConfiguration());
            for (StreamConfig operator :
                    head.getTransitiveChainedTaskConfigsWithSelf(loader).values()) {
                if ("ours".equals(operator.getOperatorName())) {
                    found.add(Keeping.of(operator, head, objectReuse, loader));
                }
            }
        }
        assertThat(found).hasSize(1);
        return found.get(0);
    }
}
