package drey.it;

import static org.assertj.core.api.Assertions.assertThat;

import org.apache.flink.api.common.functions.RichMapFunction;
import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.types.Row;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/** The changelogs that queries of this JVM's jobs have emitted, and what they come to. */
public final class KeptChanges {

    /** By query and subtask. */
    private static final Map<String, List<Row>> EMITTED = new ConcurrentHashMap<>();

    private KeptChanges() {}

    /** Keeps the changes it sees under a name; 0 for each of them goes on. */
    public static RichMapFunction<Row, Integer> keep(String name) {
        return new Keep(name);
    }

    /** What was kept under a name, subtask after subtask. */
    public static List<Row> of(String name, int parallelism) {
        List<Row> changes = new ArrayList<>();
        for (int i = 0; i < parallelism; i++) {
            changes.addAll(EMITTED.getOrDefault(name + "/" + i, List.of()));
        }
        return changes;
    }

    /**
     * Runs a job whose queries' changes are kept under {@code job/name}, and takes these, by name and subtask after subtask.
     */
    public static Map<String, List<Row>> execute(
            StreamExecutionEnvironment env,
            String job,
            List<? extends KeptQuery> queries,
            int parallelism)
            throws Exception {
        try {
            env.execute(job);
            Map<String, List<Row>> results = new LinkedHashMap<>();
            for (KeptQuery query : queries) {
                results.put(query.name(), of(job + "/" + query.name(), parallelism));
            }
            return results;
        } finally {
            forget(job + "/");
        }
    }

    /** Forgets all whose names begin so. */
    public static void forget(String beginning) {
        EMITTED.keySet().removeIf(name -> name.startsWith(beginning));
    }

    /** The changes of each key, in order. The first columns are the key. */
    public static Map<String, List<String>> byKey(int keys, List<Row> changes) {
        Map<String, List<String>> byKey = new TreeMap<>();
        for (Row row : changes) {
            byKey.computeIfAbsent(key(keys, row), k -> new ArrayList<>()).add(row.toString());
        }
        return byKey;
    }

    /**
     * The rows that are left when all changes are applied, with their numbers.
     *
     * @param upsert whether an update replaces the row with its key without an UPDATE_BEFORE
     */
    public static Map<String, Integer> content(int keys, boolean upsert, List<Row> changes) {
        Map<String, Integer> content = new TreeMap<>();
        Map<String, String> latest = new TreeMap<>();
        for (Row row : changes) {
            String text = row.toString().substring(2);
            switch (row.getKind()) {
                case INSERT, UPDATE_AFTER -> {
                    if (upsert) {
                        String old = latest.put(key(keys, row), text);
                        if (old != null) {
                            content.remove(old);
                        }
                    }
                    content.merge(text, 1, Integer::sum);
                }
                default -> content.merge(text, -1, Integer::sum);
            }
        }
        content.values().removeIf(n -> n == 0);
        return content;
    }

    /** The rows that are left, sorted. None goes that is not there. */
    public static List<String> table(List<Row> changes) {
        Map<String, Integer> numbers = new TreeMap<>();
        for (Row row : changes) {
            String text = row.toString().substring(2);
            switch (row.getKind()) {
                case INSERT, UPDATE_AFTER -> numbers.merge(text, 1, Integer::sum);
                default -> {
                    assertThat(numbers).as("rows when one goes").containsKey(text);
                    numbers.computeIfPresent(text, (t, n) -> n == 1 ? null : n - 1);
                }
            }
        }
        List<String> rows = new ArrayList<>();
        numbers.forEach((text, n) -> rows.addAll(Collections.nCopies(n, text)));
        return rows;
    }

    /** Names the first key at which two results part; all of both would be a megabyte. */
    public static <V> void assertEqual(
            String what, Map<String, V> expected, Map<String, V> actual) {
        for (String key : expected.keySet()) {
            assertThat(actual.get(key)).as("%s: key %s", what, key).isEqualTo(expected.get(key));
        }
        assertThat(actual.keySet()).as(what).isEqualTo(expected.keySet());
    }

    private static String key(int keys, Row row) {
        List<String> key = new ArrayList<>();
        for (int i = 0; i < keys; i++) {
            key.add(Row.of(row.getField(i)).toString());
        }
        return key.toString();
    }

    /** Keeps what it sees, exactly once: after a restart it forgets what came after the checkpoint. */
    private static final class Keep extends RichMapFunction<Row, Integer>
            implements CheckpointedFunction {
        private static final long serialVersionUID = 1L;

        private final String name;
        private transient List<Row> rows;
        private transient ListState<Integer> kept;

        Keep(String name) {
            this.name = name;
        }

        @Override
        public void initializeState(FunctionInitializationContext context) throws Exception {
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            List<Row> before = EMITTED.getOrDefault(name + "/" + subtask, List.of());
            int valid = 0;
            kept =
                    context.getOperatorStateStore()
                            .getUnionListState(new ListStateDescriptor<>("kept", Types.INT));
            for (int entry : kept.get()) {
                // Union state comes in no order of subtasks; each entry names its own.
                if (entry >>> 24 == subtask) {
                    valid = entry & 0xFFFFFF;
                }
            }
            rows = new ArrayList<>(before.subList(0, valid));
            EMITTED.put(name + "/" + subtask, rows);
        }

        @Override
        public void snapshotState(FunctionSnapshotContext context) throws Exception {
            int subtask = getRuntimeContext().getTaskInfo().getIndexOfThisSubtask();
            kept.update(List.of(subtask << 24 | rows.size()));
        }

        @Override
        public Integer map(Row row) {
            rows.add(Row.copy(row));
            return 0;
        }
    }
}
