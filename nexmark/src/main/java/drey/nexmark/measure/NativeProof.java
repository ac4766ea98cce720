package drey.nexmark.measure;

import java.lang.reflect.InvocationTargetException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What native operators have counted in this JVM, through {@code drey.runtime.NativeExecutions}: rows they processed are
 * the proof that they ran. Looked up by name, so that the benchmark also runs where Drey isn't on the class path.
 */
public final class NativeProof {

    private static final String COUNTERS = "drey.runtime.NativeExecutions";
    private static final Pattern LINE = Pattern.compile("(?m)^(\\S+): .*rows in (\\d+)");

    private NativeProof() {}

    public static void reset() {
        call("reset");
    }

    public static long rowsIn() {
        long rows = 0;
        Matcher line = LINE.matcher(describe());
        while (line.find()) {
            rows += Long.parseLong(line.group(2));
        }
        return rows;
    }

    /** The slowest native operator's quantile 0.99 of the time that batching held a row back. */
    public static long p99Nanos() {
        long worst = 0;
        Matcher line = LINE.matcher(describe());
        while (line.find()) {
            if (Long.parseLong(line.group(2)) > 0) {
                worst = Math.max(worst, latency(line.group(1)));
            }
        }
        return worst;
    }

    private static String describe() {
        Object text = call("describe");
        return text == null ? "" : text.toString();
    }

    private static Object call(String method) {
        try {
            return Class.forName(COUNTERS).getMethod(method).invoke(null);
        } catch (ClassNotFoundException e) {
            return null;
        } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
            throw new IllegalStateException(COUNTERS + " is not as expected", e);
        }
    }

    private static long latency(String operator) {
        try {
            Class<?> counters = Class.forName(COUNTERS);
            Object one = counters.getMethod("of", String.class).invoke(null, operator);
            return (Long) counters.getMethod("latencyNanos", double.class).invoke(one, 0.99);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(COUNTERS + " is not as expected", e);
        }
    }
}
