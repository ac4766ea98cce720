package drey.suite;

import java.lang.reflect.Method;
import java.util.Map;
import java.util.TreeMap;

/**
 * Rows that native operators of this virtual machine have processed, by operator name. Read by reflection, because a fork
 * that runs stock Flink has no Drey on its class path and then counts nothing.
 */
final class NativeCounters {
    private static final Class<?> EXECUTIONS = find();

    private NativeCounters() {}

    private static Class<?> find() {
        try {
            return Class.forName("drey.runtime.NativeExecutions");
        } catch (ClassNotFoundException e) {
            return null;
        }
    }

    /** Whether Drey is on the class path. */
    static boolean available() {
        return EXECUTIONS != null;
    }

    static Map<String, Long> read() {
        Map<String, Long> rows = new TreeMap<>();
        if (EXECUTIONS == null) {
            return rows;
        }
        try {
            Method of = EXECUTIONS.getMethod("of", String.class);
            Method rowsIn = EXECUTIONS.getMethod("rowsIn");
            // One line per operator, with its name before a colon.
            String text = (String) EXECUTIONS.getMethod("describe").invoke(null);
            for (String line : text.split("\n")) {
                int colon = line.indexOf(':');
                if (colon > 0) {
                    String name = line.substring(0, colon);
                    rows.put(name, (Long) rowsIn.invoke(of.invoke(null, name)));
                }
            }
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("can't read the counters of native executions", e);
        }
        return rows;
    }

    /** What was added since {@code before}; operators without new rows are left out. */
    static Map<String, Long> since(Map<String, Long> before) {
        Map<String, Long> rows = read();
        rows.replaceAll((name, n) -> n - before.getOrDefault(name, 0L));
        rows.values().removeIf(n -> n == 0);
        return rows;
    }
}
