package drey.batch;

import drey.jni.NativeException;
import drey.jni.NativeLibrary;
import drey.jni.NativeOperator;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import one.profiler.AsyncProfiler;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.StringData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import sun.misc.Signal;

/**
 * Everything a JVM does with signals, at once, beside native calls: implicit null checks, divisions by zero, stack overflows,
 * safepoints of a garbage collector that never rests, thread dumps, threads that call Go once and die, panics and nil dereferences
 * in Go. A quarter into the run a signal handler is installed and hammered; after half of it a profiler is started, the one that
 * Flink's web interface starts, in its two modes.
 *
 * <p>A wrong result, a missing exception or a stuck thread makes it exit with 1; what a broken signal handler does is to kill the
 * JVM. Nothing here is fast enough to measure.
 */
final class SignalStress {

    private static final Map<String, AtomicLong> COUNTS = new ConcurrentHashMap<>();
    private static volatile boolean stop;
    private static volatile Object nothing;
    private static volatile int zero;
    private static volatile Object sink;

    private interface Work {
        void once() throws Exception;
    }

    private SignalStress() {}

    public static void main(String[] args) throws Exception {
        long millis = (long) (Double.parseDouble(args[0]) * 1000);
        NativeLibrary.load();
        List<Thread> threads = new ArrayList<>();
        threads.add(loop("null checks", SignalStress::nullCheck));
        threads.add(loop("null checks", SignalStress::nullCheck));
        threads.add(loop("stack overflows", SignalStress::stackOverflow));
        threads.add(loop("divisions by zero", SignalStress::division));
        threads.add(
                loop("allocations", () -> sink = new byte[1 + (int) (System.nanoTime() & 0xffff)]));
        threads.add(loop("collections", SignalStress::collect));
        threads.add(loop("short-lived threads", SignalStress::shortLivedThread));
        threads.add(loop("panics", SignalStress::panics));
        for (int i = 0; i < 3; i++) {
            Echo echo = new Echo(i);
            threads.add(loop("native batches", echo::once));
        }
        threads.add(loop("thread dumps", () -> signal("QUIT", 1, 300)));

        Thread.sleep(millis / 4);
        Signal.handle(new Signal("WINCH"), s -> count("late signals"));
        threads.add(loop("late signals sent", () -> signal("WINCH", 200, 1)));
        Thread.sleep(millis / 4);
        long samples = profile("itimer", millis / 4);
        samples += profile("wall", millis / 4);
        stop = true;
        for (Thread thread : threads) {
            thread.join(30_000);
            if (thread.isAlive()) {
                bad(thread.getName() + " is stuck");
            }
        }
        COUNTS.computeIfAbsent("profiler samples", k -> new AtomicLong()).set(samples);
        String live = NativeOperator.live();
        if (!live.isEmpty()) {
            bad("left behind: " + live);
        }
        new TreeMap<>(COUNTS).forEach((what, n) -> System.out.println(what + ": " + n));
        // With the handlers of the profiler and of WINCH still installed.
        System.exit(COUNTS.containsKey("bad") ? 1 : 0);
    }

    private static void count(String what) {
        COUNTS.computeIfAbsent(what, k -> new AtomicLong()).incrementAndGet();
    }

    private static void bad(String what) {
        System.out.println("BAD " + what);
        count("bad");
    }

    private static Thread loop(String what, Work work) {
        Thread thread =
                new Thread(
                        () -> {
                            try {
                                while (!stop) {
                                    work.once();
                                    count(what);
                                }
                            } catch (Throwable e) {
                                bad(what + ": " + e);
                            }
                        },
                        what);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private static void nullCheck() {
        try {
            sink = nothing.hashCode();
            throw new AssertionError("a null reference was followed");
        } catch (NullPointerException expected) {
            sink = expected;
        }
    }

    private static void division() {
        try {
            sink = 1 / zero;
            throw new AssertionError("a number was divided by zero");
        } catch (ArithmeticException expected) {
            sink = expected;
        }
    }

    private static void stackOverflow() {
        try {
            sink = recurse(0);
            throw new AssertionError("an endless recursion has ended");
        } catch (StackOverflowError expected) {
            sink = expected;
        }
    }

    private static int recurse(int depth) {
        return recurse(depth + 1) + 1;
    }

    private static void collect() throws InterruptedException {
        System.gc();
        Thread.sleep(100);
    }

    private static void shortLivedThread() throws InterruptedException {
        Thread thread = new Thread(() -> sink = NativeOperator.bind(null));
        thread.start();
        thread.join();
    }

    private static void panics() throws InterruptedException {
        for (int kind = 0; kind < 3; kind++) {
            try {
                NativeOperator.panicForTest(0, kind);
                throw new AssertionError("a panic was lost");
            } catch (NativeException expected) {
                if (expected.status() != NativeException.INTERNAL) {
                    throw expected;
                }
            }
        }
        Thread.sleep(1);
    }

    /** Sends from outside, so that the kernel picks the thread: also one that runs Go. */
    private static void signal(String name, int times, long pauseMillis)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("kill", "-" + name));
        for (int i = 0; i < times; i++) {
            command.add(Long.toString(ProcessHandle.current().pid()));
        }
        new ProcessBuilder(command).inheritIO().start().waitFor();
        Thread.sleep(pauseMillis);
    }

    /** Profiles for a while and returns the number of samples taken. */
    private static long profile(String event, long millis) throws Exception {
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        profiler.execute("start,event=" + event + ",interval=500us");
        Thread.sleep(millis);
        profiler.stop();
        return profiler.getSamples();
    }

    /** One operator's life: opened, pushed to and polled from, checked, closed. */
    private static final class Echo {
        private final BinaryRowData[] rows = new BinaryRowData[1000];
        private final RowBatchWriter writer = new RowBatchWriter(rows.length, 1 << 20);
        private final RowBatchReader reader = new RowBatchReader(2);

        Echo(int seed) {
            RowDataSerializer serializer = new RowDataSerializer(RowBatchTest.TYPE);
            for (int i = 0; i < rows.length; i++) {
                rows[i] =
                        serializer
                                .toBinaryRow(
                                        GenericRowData.of(
                                                (long) i + seed,
                                                StringData.fromString("name ".repeat(i % 40))))
                                .copy();
            }
        }

        void once() {
            long handle = RowBatchTest.openEcho(RowBatchTest.TYPE);
            for (int batch = 0; batch < 50; batch++) {
                for (int i = 0; i < rows.length; i++) {
                    writer.add((byte) (i & 3), rows[i]);
                }
                NativeOperator.push(handle, 0, writer.export(), batch);
                writer.clear();
                int seen = 0;
                int n;
                while ((n = (int) NativeOperator.poll(handle, reader.address())) > 0) {
                    reader.attach(n);
                    for (int i = 0; i < n; i++) {
                        BinaryRowData row = reader.row(i);
                        BinaryRowData sent = rows[seen];
                        if (row.getLong(0) != sent.getLong(0)
                                || !row.getString(1).equals(sent.getString(1))
                                || row.getRowKind().toByteValue() != (seen & 3)
                                || reader.source(i) != seen) {
                            throw new AssertionError("row " + seen + " came back changed");
                        }
                        seen++;
                    }
                }
                if (seen != rows.length) {
                    throw new AssertionError(seen + " rows came back");
                }
            }
            NativeOperator.close(handle);
        }
    }
}
