package drey.parity;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.functions.AbstractRichFunction;
import org.apache.flink.runtime.util.EnvironmentInformation;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.JsonNode;
import org.apache.flink.shaded.jackson2.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.plan.utils.KeySelectorUtil;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.generated.JoinCondition;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.runtime.operators.bundle.trigger.CountCoBundleTrigger;
import org.apache.flink.table.runtime.operators.join.FlinkJoinType;
import org.apache.flink.table.runtime.operators.join.stream.MiniBatchStreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.StreamingSemiAntiJoinOperator;
import org.apache.flink.table.runtime.operators.join.stream.utils.JoinInputSideSpec;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.types.RowKind;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.condition.EnabledIfSystemProperty;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.stream.Stream;

/**
 * Holds the scenarios of the native join against Flink's join operators, as {@link ScenarioFilesTest} does for deduplicate.
 * Matches of one row have an order of their own on each of Flink's state backends: where there may be several, what an event
 * causes is compared as a multiset.
 *
 * <p>With {@code -Ddrey.record=true} the scenarios named {@code recorded_*} are written anew: seeded random events, and what
 * Flink makes of them.
 */
class JoinScenarioFilesTest {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path DIRECTORY =
            Path.of(System.getProperty("basedir", "."), "../native/join/testdata").normalize();

    /** What the specification of a scenario with two inputs says. */
    private static final class JoinFile {
        final ScenarioFile file;
        final JsonNode spec;

        JoinFile(ScenarioFile file) throws IOException {
            this.file = file;
            spec = JSON.readTree(file.spec);
        }

        int[] columns(String side, String what) {
            JsonNode list = spec.path(side).path(what);
            int[] columns = new int[list.size()];
            for (int i = 0; i < columns.length; i++) {
                columns[i] = list.get(i).asInt();
            }
            return columns;
        }

        /** Whether a join key has at most one row on either side. */
        boolean isOrdered() {
            return isUnique("left") && isUnique("right");
        }

        boolean isUnique(String side) {
            List<Integer> keys = new ArrayList<>();
            for (int c : columns(side, "keys")) {
                keys.add(c);
            }
            for (int c : columns(side, "uniqueKey")) {
                if (!keys.contains(c)) {
                    return false;
                }
            }
            return spec.path(side).has("uniqueKey");
        }

        RowDataKeySelector selector(int input, int[] columns) {
            return KeySelectorUtil.getRowDataSelector(
                    getClass().getClassLoader(),
                    columns,
                    InternalTypeInfo.of(file.inputs.get(input)));
        }

        JoinInputSideSpec side(int input, String name) {
            if (!spec.path(name).has("uniqueKey")) {
                return JoinInputSideSpec.withoutUniqueKey();
            }
            RowDataKeySelector unique = selector(input, columns(name, "uniqueKey"));
            return isUnique(name)
                    ? JoinInputSideSpec.withUniqueKeyContainedByJoinKey(
                            unique.getProducedType(), unique)
                    : JoinInputSideSpec.withUniqueKey(unique.getProducedType(), unique);
        }

        /** The operator that Flink would run. */
        Object operator() {
            InternalTypeInfo<RowData> left = InternalTypeInfo.of(file.inputs.get(0));
            InternalTypeInfo<RowData> right = InternalTypeInfo.of(file.inputs.get(1));
            String type = spec.get("joinType").asText();
            boolean leftIsOuter = type.equals("LEFT") || type.equals("FULL");
            boolean rightIsOuter = type.equals("RIGHT") || type.equals("FULL");
            boolean[] filterNulls = new boolean[spec.get("filterNulls").size()];
            for (int i = 0; i < filterNulls.length; i++) {
                filterNulls[i] = spec.get("filterNulls").get(i).asBoolean();
            }
            long leftTtl = spec.get("left").get("stateTtlMillis").asLong();
            long rightTtl = spec.get("right").get("stateTtlMillis").asLong();
            GeneratedJoinCondition condition = condition();
            if (type.equals("SEMI") || type.equals("ANTI")) {
                return new StreamingSemiAntiJoinOperator(
                        type.equals("ANTI"),
                        left,
                        right,
                        condition,
                        side(0, "left"),
                        side(1, "right"),
                        filterNulls,
                        leftTtl,
                        rightTtl);
            }
            if (spec.has("miniBatch")) {
                return MiniBatchStreamingJoinOperator.newMiniBatchStreamJoinOperator(
                        FlinkJoinType.valueOf(type),
                        left,
                        right,
                        condition,
                        side(0, "left"),
                        side(1, "right"),
                        leftIsOuter,
                        rightIsOuter,
                        filterNulls,
                        leftTtl,
                        rightTtl,
                        new CountCoBundleTrigger<>(spec.get("miniBatch").get("size").asLong()));
            }
            return new StreamingJoinOperator(
                    left,
                    right,
                    condition,
                    side(0, "left"),
                    side(1, "right"),
                    leftIsOuter,
                    rightIsOuter,
                    filterNulls,
                    leftTtl,
                    rightTtl);
        }

        /** Scenarios have no other condition than that a BIGINT of the left row is less than one of the right row. */
        private GeneratedJoinCondition condition() {
            JsonNode condition = spec.path("condition");
            if (condition.isMissingNode()) {
                return new FixedCondition((l, r) -> true);
            }
            assertThat(condition.get("op").asText()).isEqualTo("<");
            int l = condition.get("args").get(0).get("index").asInt();
            int r =
                    condition.get("args").get(1).get("index").asInt()
                            - file.inputs.get(0).getFieldCount();
            return new FixedCondition(
                    (left, right) ->
                            !left.isNullAt(l)
                                    && !right.isNullAt(r)
                                    && left.getLong(l) < right.getLong(r));
        }
    }

    /** Two rows match, or don't. */
    private interface Matches {
        boolean test(RowData left, RowData right);
    }

    /** A condition that needs no compiler. */
    private static final class FixedCondition extends GeneratedJoinCondition {

        private final transient Matches matches;

        FixedCondition(Matches matches) {
            super("", "", new Object[0]);
            this.matches = matches;
        }

        @Override
        public JoinCondition newInstance(ClassLoader classLoader) {
            return new Condition(matches);
        }
    }

    private static final class Condition extends AbstractRichFunction implements JoinCondition {

        private final transient Matches matches;

        Condition(Matches matches) {
            this.matches = matches;
        }

        @Override
        public boolean apply(RowData left, RowData right) {
            return matches.test(left, right);
        }
    }

    @TestFactory
    Stream<DynamicTest> everyScenarioIsFlinks() throws IOException {
        return ScenarioFile.each(DIRECTORY, ".*\\.txt", 21, JoinScenarioFilesTest::verify);
    }

    private static void verify(Path path) throws Exception {
        JoinFile join = new JoinFile(ScenarioFile.read(path));
        join.file.verify(play(join), join.isOrdered());
    }

    /** What Flink's operator emits for each event. */
    private static List<List<String>> play(JoinFile join) throws Exception {
        Log log =
                new Log(join.file.output) {
                    @Override
                    public void collect(StreamRecord<RowData> record) {
                        assertThat(record.hasTimestamp()).isFalse();
                        super.collect(record);
                    }
                };
        try (Harness h =
                Harness.create(
                        join.operator(),
                        List.of(
                                join.selector(0, join.columns("left", "keys")),
                                join.selector(1, join.columns("right", "keys"))),
                        join.file.output,
                        log,
                        null,
                        Harness.MEMORY,
                        Harness.Subtask.ONLY,
                        false)) {
            return join.file.play(h, log);
        }
    }

    // --- recording ------------------------------------------------------------------------------

    private static final String LEFT =
            "[{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"id\",\"type\":\"INT\"},{\"name\":\"v\",\"type\":\"BIGINT\"}]";
    private static final String RIGHT =
            "[{\"name\":\"v\",\"type\":\"BIGINT\"},{\"name\":\"k\",\"type\":\"INT\"},{\"name\":\"id\",\"type\":\"INT\"}]";
    private static final String LESS =
            "\"condition\":{\"args\":[{\"index\":2,\"op\":\"REF\",\"type\":\"BIGINT\"},"
                    + "{\"index\":3,\"op\":\"REF\",\"type\":\"BIGINT\"}],\"op\":\"<\",\"type\":\"BOOLEAN\"},";
    private static final List<String> SHAPES = List.of("rows", "unique", "one");

    @Test
    @EnabledIfSystemProperty(named = "drey.record", matches = "true")
    void record() throws Exception {
        for (String type : List.of("INNER", "LEFT", "RIGHT", "FULL", "SEMI", "ANTI")) {
            for (int[] shapes : new int[][] {{0, 0}, {1, 1}, {2, 2}, {0, 2}, {2, 1}}) {
                record(type, shapes[0], shapes[1], false);
                boolean semi = type.equals("SEMI") || type.equals("ANTI");
                if (!semi && shapes[0] == shapes[1]) {
                    record(type, shapes[0], shapes[1], true);
                }
            }
        }
    }

    private static void record(String type, int leftShape, int rightShape, boolean miniBatch)
            throws Exception {
        String name =
                String.join(
                        "_",
                        "recorded",
                        type.toLowerCase(Locale.ROOT),
                        SHAPES.get(leftShape),
                        SHAPES.get(rightShape) + (miniBatch ? "_mini_batch" : ""));
        SplittableRandom rng = new SplittableRandom(name.hashCode());
        String spec =
                "{"
                        + (rng.nextBoolean() ? LESS : "")
                        + ("\"filterNulls\":[" + (rng.nextInt(3) > 0) + "],")
                        + ("\"joinType\":\"" + type + "\",")
                        + ("\"left\":" + side(rng, leftShape, 0, 1) + ",")
                        + (miniBatch ? "\"miniBatch\":{\"size\":12}," : "")
                        + "\"operator\":\"join\","
                        + ("\"right\":" + side(rng, rightShape, 1, 2) + ",")
                        + "\"version\":1}";
        ScenarioFile file = new ScenarioFile();
        file.header(
                "# Recorded from Flink "
                        + EnvironmentInformation.getVersion()
                        + ", -Ddrey.record=true in JoinScenarioFilesTest. Not to be edited.");
        file.header("spec " + spec);
        file.header("input " + LEFT);
        file.header("input " + RIGHT);
        if (!type.equals("SEMI") && !type.equals("ANTI")) {
            String right = RIGHT.replace("\",\"type", "0\",\"type");
            file.header("output " + LEFT.replace("]", ",") + right.substring(1));
        }
        file.header("");
        events(rng, miniBatch, file.events);
        file.record(play(new JoinFile(file)));
        file.write(DIRECTORY.resolve(name + ".txt"));
    }

    private static String side(SplittableRandom rng, int shape, int key, int id) {
        return "{\"keys\":["
                + key
                + "],\"stateTtlMillis\":"
                + (rng.nextInt(3) == 0 ? 50 : 0)
                + (shape == 0 ? "" : ",\"uniqueKey\":[" + (shape == 1 ? id : key) + "]")
                + "}";
    }

    /** Rows come and go, some go that never came. */
    private static void events(
            SplittableRandom rng, boolean miniBatch, List<ScenarioFile.Event> events) {
        List<List<String>> live = List.of(new ArrayList<>(), new ArrayList<>());
        long now = 0;
        for (int i = 0; i < 60; i++) {
            String text;
            int choice = rng.nextInt(20);
            if (choice == 0) {
                text = "now " + (now += rng.nextInt(40));
            } else if (choice == 1 && miniBatch) {
                text = "flush";
            } else {
                int input = rng.nextInt(2);
                List<String> rows = live.get(input);
                boolean accumulate = rng.nextInt(5) < 3;
                String row;
                if (!rows.isEmpty() && (!accumulate || rng.nextInt(6) == 0)) {
                    row = rows.get(rng.nextInt(rows.size()));
                } else {
                    String key = rng.nextInt(8) == 0 ? "NULL" : "" + rng.nextInt(3);
                    String id = "" + rng.nextInt(4);
                    String value = rng.nextInt(8) == 0 ? "NULL" : "" + rng.nextInt(4);
                    row =
                            String.join(
                                    " ",
                                    input == 0 ? List.of(key, id, value) : List.of(value, key, id));
                }
                if (accumulate) {
                    rows.add(row);
                } else {
                    rows.remove(row);
                }
                RowKind kind =
                        rng.nextBoolean()
                                ? (accumulate ? RowKind.INSERT : RowKind.DELETE)
                                : (accumulate ? RowKind.UPDATE_AFTER : RowKind.UPDATE_BEFORE);
                text = (input == 1 ? "1 " : "") + kind.shortString() + " " + row;
            }
            events.add(new ScenarioFile.Event(text, new ArrayList<>()));
        }
        if (miniBatch) {
            events.add(new ScenarioFile.Event("flush", new ArrayList<>()));
        }
    }
}
