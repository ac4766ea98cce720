package drey.it.planner;

import static org.assertj.core.api.Assertions.assertThat;

import drey.plan.Plans;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.runtime.jobgraph.JobEdge;
import org.apache.flink.runtime.jobgraph.JobGraph;
import org.apache.flink.runtime.jobgraph.JobVertex;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.sink.v2.DiscardingSink;
import org.apache.flink.streaming.api.graph.StreamGraph;
import org.apache.flink.table.api.Schema;
import org.apache.flink.table.api.Table;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.bridge.java.StreamTableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.planner.delegation.PlannerBase;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeContext;
import org.apache.flink.types.Row;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * A job that runs natively is, to Flink and to a savepoint, the job that stock Flink would have made: the same vertices
 * with the same operators, IDs, uids, names, parallelism and edges.
 */
class JobGraphIdentityTest {

    private static final String LAST = Plans.deduplicate("auction, bidder", "ts DESC");
    private static final String FIRST = Plans.deduplicate("auction, bidder", "ts ASC");
    private static final String ARRIVED_LAST = Plans.deduplicate("auction, bidder", "pt DESC");

    /** Each a set of INSERT statements, and how many of its nodes run natively, one by one and in mini-batches. */
    record Program(String name, int natives, int inBundles, String... inserts) {

        Program(String name, int natives, String... inserts) {
            this(name, natives, natives, inserts);
        }

        int natives(boolean bundles) {
            return bundles ? inBundles : natives;
        }

        @Override
        public String toString() {
            return name;
        }
    }

    private static final List<Program> PROGRAMS =
            List.of(
                    new Program("keep-last", 1, "INSERT INTO upserts " + LAST),
                    new Program("keep-first", 1, "INSERT INTO upserts " + FIRST),
                    new Program(
                            "between stock operators",
                            1,
                            "INSERT INTO upserts SELECT auction, bidder, CAST(CARDINALITY(ARRAY_AGG(price))"
                                    + " AS BIGINT) FROM ("
                                    + LAST
                                    + ") GROUP BY auction, bidder"),
                    new Program(
                            "Top-N",
                            1,
                            "INSERT INTO retracts SELECT auction, bidder, rn FROM (SELECT *, ROW_NUMBER()"
                                    + " OVER (PARTITION BY bidder ORDER BY price DESC) AS rn FROM bid)"
                                    + " WHERE rn <= 3"),
                    new Program(
                            "LIMIT, which has one subtask",
                            1,
                            "INSERT INTO retracts SELECT auction, bidder, price FROM bid ORDER BY price"
                                    + " LIMIT 3"),
                    new Program(
                            "both sides of a join",
                            2,
                            "INSERT INTO upserts SELECT a.auction, a.bidder, b.price FROM ("
                                    + LAST
                                    + ") a JOIN ("
                                    + ARRIVED_LAST
                                    + ") b ON a.auction = b.auction AND a.bidder = b.bidder"),
                    new Program(
                            "aggregate, in two phases where there are mini-batches",
                            1,
                            2,
                            "INSERT INTO upserts SELECT auction, bidder, SUM(price) FROM bid GROUP BY"
                                    + " auction, bidder"),
                    new Program(
                            "distinct values, and none to group by",
                            1,
                            2,
                            "INSERT INTO retracts SELECT COUNT(DISTINCT auction), COUNT(*), MAX(price) FROM"
                                    + " bid"),
                    new Program(
                            "retracting aggregate of an aggregate",
                            2,
                            4,
                            "INSERT INTO retracts SELECT bidder, COUNT(*), MIN(price) FROM (SELECT auction,"
                                    + " bidder, MAX(price) AS price FROM bid GROUP BY auction, bidder)"
                                    + " GROUP BY bidder"),
                    new Program(
                            "shared by two sinks",
                            2,
                            "INSERT INTO upserts " + LAST,
                            "INSERT INTO retracts " + LAST,
                            "INSERT INTO retracts " + FIRST));

    static Stream<Object[]> programs() {
        List<Object[]> all = new ArrayList<>();
        for (Program program : PROGRAMS) {
            for (String uids : List.of("ALWAYS", "PLAN_ONLY", "DISABLED")) {
                for (boolean bundles : new boolean[] {false, true}) {
                    all.add(new Object[] {program, uids, bundles});
                }
            }
        }
        return all.stream();
    }

    @ParameterizedTest(name = "{0}, uids {1}, mini-batch {2}")
    @MethodSource("programs")
    void translatedJobIsStocks(Program program, String uids, boolean bundles) {
        List<String> stock = describe(translate(program, uids, bundles, "false", 0));
        List<String> ours =
                describe(translate(program, uids, bundles, "true", program.natives(bundles)));

        assertThat(stock).isNotEmpty();
        assertThat(ours).isEqualTo(stock);
    }

    @ParameterizedTest(name = "{0}, uids {1}, mini-batch {2}")
    @MethodSource("programs")
    void compiledJobIsStocks(Program program, String uids, boolean bundles) {
        List<String> stock = describe(translateCompiled(program, uids, bundles, "false", 0));
        List<String> ours =
                describe(
                        translateCompiled(
                                program, uids, bundles, "true", program.natives(bundles)));

        assertThat(stock).isNotEmpty();
        assertThat(ours).isEqualTo(stock);
        if (!uids.equals("DISABLED")) {
            assertThat(String.join("\n", ours))
                    .containsAnyOf("_deduplicate", "_rank", "-aggregate");
        }
    }

    @Test
    void conversionsFromAndToDataStreamsAreStocks() {
        List<String> stock = describe(convert("false", 0));
        List<String> ours = describe(convert("true", 1));

        assertThat(stock).isNotEmpty();
        assertThat(ours).isEqualTo(stock);
    }

    /** A user's program around the query, with keyed operators of its own that are none of our business. */
    private static JobGraph convert(String enabled, int natives) {
        ExecNodeContext.resetIdCounter();
        StreamExecutionEnvironment streams = StreamExecutionEnvironment.getExecutionEnvironment();
        streams.setParallelism(2);
        StreamTableEnvironment env = StreamTableEnvironment.create(streams);
        env.getConfig().set("drey.enabled", enabled);
        DataStream<Integer> numbers =
                streams.fromData(1, 2, 3, 4)
                        .keyBy(number -> number % 2)
                        .reduce((left, right) -> left + right);
        env.createTemporaryView(
                "numbers",
                numbers,
                Schema.newBuilder().columnByExpression("pt", "PROCTIME()").build());
        Table last =
                env.sqlQuery(
                        "SELECT f0 FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY f0 ORDER BY pt DESC)"
                                + " AS rn FROM numbers) WHERE rn = 1");
        DataStream<Row> changelog = env.toChangelogStream(last);
        assertThat(Plans.nativeOnes(List.of(changelog.getTransformation()))).hasSize(natives);
        changelog.keyBy(row -> row.getField(0)).map(Row::toString).sinkTo(new DiscardingSink<>());
        return streams.getStreamGraph().getJobGraph();
    }

    private static TableEnvironment environment(String uids, boolean bundles, String enabled) {
        // Uids and names carry the node's number, which counts up through the life of a process.
        ExecNodeContext.resetIdCounter();
        return Plans.environment(
                "drey.enabled",
                enabled,
                "table.exec.uid.generation",
                uids,
                "parallelism.default",
                "3",
                "table.exec.mini-batch.enabled",
                Boolean.toString(bundles),
                "table.exec.mini-batch.size",
                "100",
                "table.exec.mini-batch.allow-latency",
                "1 s");
    }

    private static JobGraph translate(
            Program program, String uids, boolean bundles, String enabled, int natives) {
        TableEnvironment env = environment(uids, bundles, enabled);
        return jobGraph(env, Plans.translate(env, program.inserts()), natives);
    }

    private static JobGraph translateCompiled(
            Program program, String uids, boolean bundles, String enabled, int natives) {
        TableEnvironment env = environment(uids, bundles, enabled);
        var set = env.createStatementSet();
        for (String insert : program.inserts()) {
            set.addInsertSql(insert);
        }
        String plan = set.compilePlan().asJsonString();
        return jobGraph(env, Plans.translate(env, Plans.load(env, plan)), natives);
    }

    private static JobGraph jobGraph(
            TableEnvironment env, List<Transformation<?>> roots, int natives) {
        assertThat(Plans.nativeOnes(roots)).hasSize(natives);
        StreamGraph graph =
                (StreamGraph)
                        ((PlannerBase) ((TableEnvironmentImpl) env).getPlanner())
                                .getExecEnv()
                                .generateStreamGraph(roots);
        return graph.getJobGraph();
    }

    /** Everything of a job graph but what is inside its operators. */
    private static List<String> describe(JobGraph graph) {
        List<String> lines = new ArrayList<>();
        for (JobVertex vertex : graph.getVerticesSortedTopologicallyFromSources()) {
            lines.add(
                    String.join(
                            " | ",
                            vertex.getID().toString(),
                            vertex.getName(),
                            "" + vertex.getParallelism(),
                            "" + vertex.getMaxParallelism(),
                            vertex.getInvokableClassName(),
                            vertex.getOperatorPrettyName() + ""));
            vertex.getOperatorIDs()
                    .forEach(
                            id ->
                                    lines.add(
                                            "  operator "
                                                    + id.getGeneratedOperatorID()
                                                    + " "
                                                    + id.getUserDefinedOperatorID()
                                                    + " "
                                                    + id.getUserDefinedOperatorName()
                                                    + " "
                                                    + id.getUserDefinedOperatorUid()));
            for (JobEdge edge : vertex.getInputs()) {
                lines.add(
                        "  from "
                                + edge.getSource().getProducer().getID()
                                + " "
                                + edge.getShipStrategyName()
                                + " "
                                + edge.getDistributionPattern()
                                + " "
                                + edge.getSource().getResultType());
            }
        }
        return lines;
    }
}
