package drey.plan;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import org.apache.flink.core.memory.ManagedMemoryUseCase;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.CompiledPlan;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.StatementSet;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.ValidationException;
import org.junit.jupiter.api.Test;

import java.util.List;

class ExplainTest {

    private static final String DEDUPLICATE = Plans.deduplicate("auction, bidder", "ts DESC");
    private static final String DESCRIPTION =
            "Deduplicate(keep=[LastRow], key=[auction, bidder], order=[ROWTIME],"
                    + " outputInsertOnly=[false])";

    @Test
    void everyStatefulNodeIsListedFromTheSinkUp() {
        String sql =
                "SELECT n, COLLECT(auction) FROM (SELECT auction, COUNT(*) AS n FROM ("
                        + DEDUPLICATE
                        + ") GROUP BY auction) GROUP BY n";

        assertThat(Plans.section(Plans.environment().explainSql(sql)))
                .containsExactly(
                        "GroupAggregate(groupBy=[n], select=[n, COLLECT_RETRACT(auction) AS EXPR$1]):"
                                + " flink: no native aggregate function COLLECT",
                        "GroupAggregate(groupBy=[auction], select=[auction, COUNT_RETRACT(*) AS n]):"
                                + " native",
                        DESCRIPTION + ": native");
    }

    @Test
    void sectionIsTheOnlyAddition() {
        TableEnvironment env = Plans.environment();
        String sql = "INSERT INTO upserts " + DEDUPLICATE;
        String on = env.explainSql(sql);
        env.getConfig().set("drey.enabled", "false");
        String off = env.explainSql(sql);

        assertThat(on).isEqualTo(off + "\n== Drey ==\n" + DESCRIPTION + ": native\n");
        assertThat(off).doesNotContain("Drey");
    }

    @Test
    void planWithoutStatefulNodesIsExplainedAsEver() {
        assertThat(Plans.environment().explainSql("SELECT auction + 1 FROM bid WHERE price > 5"))
                .doesNotContain("Drey");
    }

    @Test
    void jsonPlanStaysAtTheEnd() throws Exception {
        String explained =
                Plans.environment()
                        .explainSql(
                                "INSERT INTO upserts " + DEDUPLICATE,
                                ExplainDetail.JSON_EXECUTION_PLAN,
                                ExplainDetail.CHANGELOG_MODE,
                                ExplainDetail.PLAN_ADVICE);
        String title = "== Physical Execution Plan ==";

        assertThat(Plans.section(explained)).containsExactly(DESCRIPTION + ": native");
        assertThat(explained.indexOf("== Drey ==")).isBetween(1, explained.indexOf(title));
        String json = explained.substring(explained.indexOf(title) + title.length());
        assertThat(new ObjectMapper().readTree(json).get("nodes").isArray()).isTrue();
    }

    @Test
    void explainStatementPrintsTheSection() {
        TableEnvironment env = Plans.environment();
        String text =
                (String)
                        env.executeSql("EXPLAIN PLAN FOR " + DEDUPLICATE)
                                .collect()
                                .next()
                                .getField(0);

        assertThat(Plans.section(text)).containsExactly(DESCRIPTION + ": native");
    }

    @Test
    void statementSetListsASharedNodeOnce() {
        TableEnvironment env = Plans.environment();
        StatementSet set = env.createStatementSet();
        set.addInsertSql("INSERT INTO upserts " + DEDUPLICATE);
        set.addInsertSql("INSERT INTO retracts " + DEDUPLICATE);

        assertThat(Plans.section(set.explain())).containsExactly(DESCRIPTION + ": native");
    }

    @Test
    void compiledPlanIsStocksAndIsExplained() {
        String sql = "INSERT INTO upserts " + DEDUPLICATE;
        CompiledPlan plan = Plans.environment().compilePlanSql(sql);
        CompiledPlan stock = Plans.environment("drey.enabled", "false").compilePlanSql(sql);

        assertThat(withoutIds(plan.asJsonString())).isEqualTo(withoutIds(stock.asJsonString()));
        assertThat(Plans.section(plan.explain())).containsExactly(DESCRIPTION + ": native");
        // Flink keeps what it translated; explaining and translating again must not wrap it twice.
        assertThat(plan.explain()).isEqualTo(plan.explain());
        assertThat(withoutIds(plan.asJsonString())).isEqualTo(withoutIds(stock.asJsonString()));
    }

    /** Node ids count up through the life of the process. */
    private static String withoutIds(String plan) {
        return plan.replaceAll("\"(id|source|target)\" : \\d+", "\"$1\" : N");
    }

    @Test
    void planTranslatedAgainWithDreyOffIsStocks() {
        TableEnvironment env = Plans.environment();
        var plan =
                Plans.load(
                        env,
                        env.compilePlanSql("INSERT INTO upserts " + DEDUPLICATE).asJsonString());
        OneInputTransformation<?, ?> node = Plans.nativeOnes(Plans.translate(env, plan)).get(0);
        assertThat(node.getManagedMemoryOperatorScopeUseCaseWeights())
                .containsOnlyKeys(ManagedMemoryUseCase.OPERATOR);
        var stock = Plans.factory(node).stock();

        env.getConfig().set("drey.operator.deduplicate.enabled", "false");
        assertThat(Plans.nativeOnes(Plans.translate(env, plan))).isEmpty();
        assertThat(node.getOperatorFactory()).isSameAs(stock);
        assertThat(node.getManagedMemoryOperatorScopeUseCaseWeights()).isEmpty();
    }

    @Test
    void operatorIsTurnedOffByName() {
        TableEnvironment env = Plans.environment();
        env.getConfig().set("drey.operator.deduplicate.enabled", "false");

        assertThat(Plans.section(env.explainSql(DEDUPLICATE)))
                .containsExactly(
                        DESCRIPTION + ": flink: turned off by drey.operator.deduplicate.enabled");
    }

    @Test
    void unknownOptionNamesTheNearestOne() {
        assertThat(
                        Plans.section(
                                Plans.environment(
                                                "drey.batch.row",
                                                "5",
                                                "drey.operator.dedup.enabled",
                                                "false")
                                        .explainSql(DEDUPLICATE)))
                .containsExactly(
                        DESCRIPTION + ": native",
                        "remark: unknown option 'drey.batch.row', did you mean 'drey.batch.rows'?",
                        "remark: unknown option 'drey.operator.dedup.enabled', did you mean"
                                + " 'drey.operator.deduplicate.enabled'?");
    }

    @Test
    void impossibleValueIsAnErrorThatNamesTheOption() {
        for (String[] bad :
                List.of(
                        new String[] {"drey.enabled", "maybe"},
                        new String[] {"drey.batch.rows", "0"},
                        new String[] {"drey.batch.latency", "fast"})) {
            assertThatThrownBy(() -> Plans.environment(bad).explainSql(DEDUPLICATE))
                    .isInstanceOf(ValidationException.class)
                    .hasMessageContaining(bad[0]);
        }
    }

    @Test
    void explainSectionCanBeTurnedOff() {
        TableEnvironment env = Plans.environment("drey.explain.enabled", "false");

        assertThat(env.explainSql(DEDUPLICATE)).doesNotContain("Drey");
        assertThat(Plans.nativeOnes(Plans.translate(env, "INSERT INTO upserts " + DEDUPLICATE)))
                .hasSize(1);
    }
}
