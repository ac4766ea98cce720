package drey.nexmark.measure;

import java.io.IOException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.regex.Pattern;

/**
 * CPU time by group of threads, from Linux's account of each thread. Sampled while a run goes on, since a thread's account
 * goes with it. Threads that the Go runtime starts have the name of the thread that caused them: those of an operator count
 * as the operator's.
 */
public final class CpuSplit {

    /**
     * Groups of threads by what a run pays for them. The exchange has threads of its own only between processes; within one, the
     * source's and the operators' threads serialize and deserialize: {@code make profile} tells how much.
     */
    public enum Group {
        SOURCE,
        EXCHANGE,
        OPERATORS,
        GC,
        JIT,
        OTHER;

        public String label() {
            return name().toLowerCase(Locale.ROOT);
        }

        /**
         * By the first fifteen bytes of a thread's name, which is what Linux keeps.
         *
         * @param tasks such beginnings of the names of Flink's task threads
         */
        static Group of(String thread, Set<String> tasks) {
            if (thread.startsWith("Source:")) {
                return SOURCE;
            }
            if (tasks.contains(thread) || thread.startsWith("rocksdb:")) {
                return OPERATORS;
            }
            if (thread.startsWith("flink-netty") || thread.startsWith("Flink Netty")) {
                return EXCHANGE;
            }
            if (thread.startsWith("GC Thread") || thread.startsWith("G1 ")) {
                return GC;
            }
            if (thread.startsWith("C1 Comp") || thread.startsWith("C2 Comp")) {
                return JIT;
            }
            return OTHER;
        }
    }

    private static final int COMM = 15;

    /** Task threads are named after their operators, subtask and attempt: {@code Calc[3] (1/1)#0}. */
    private static final Pattern TASK = Pattern.compile(".*\\(\\d+/\\d+\\)#\\d+");

    private static final Path TASKS = Path.of("/proc/self/task");

    private final Set<String> tasks = new HashSet<>();

    private record Account(Group group, long nanos) {}

    private final Map<String, Account> latest = new HashMap<>();
    private final Map<String, Long> base = new HashMap<>();

    /** Begins to count. */
    synchronized void start() {
        sample();
        latest.forEach((thread, account) -> base.put(thread, account.nanos));
    }

    /** Reads every thread's account. */
    synchronized void sample() {
        rememberTasks();
        try (DirectoryStream<Path> threads = Files.newDirectoryStream(TASKS)) {
            for (Path thread : threads) {
                read(thread);
            }
        } catch (IOException e) {
            // Not on Linux: nothing is known.
        }
    }

    public static boolean isTask(String threadName) {
        return TASK.matcher(threadName).matches();
    }

    private void rememberTasks() {
        ThreadGroup all = Thread.currentThread().getThreadGroup();
        while (all.getParent() != null) {
            all = all.getParent();
        }
        Thread[] threads = new Thread[2 * all.activeCount() + 16];
        int count = all.enumerate(threads);
        for (int i = 0; i < count; i++) {
            String name = threads[i].getName();
            if (isTask(name)) {
                tasks.add(name.substring(0, Math.min(COMM, name.length())).stripTrailing());
            }
        }
    }

    private void read(Path thread) {
        try {
            String[] schedule = Files.readString(thread.resolve("schedstat")).split(" ");
            String comm = Files.readString(thread.resolve("comm")).stripTrailing();
            Group group = Group.of(comm, tasks);
            latest.put(
                    thread.getFileName().toString(),
                    new Account(group, Long.parseLong(schedule[0])));
        } catch (IOException | NumberFormatException e) {
            // The thread has ended meanwhile; its latest sample stands.
        }
    }

    /** CPU nanoseconds of each group since the start, as far as sampled. */
    private Map<Group, Long> split() {
        Map<Group, Long> split = new EnumMap<>(Group.class);
        for (Group group : Group.values()) {
            split.put(group, 0L);
        }
        latest.forEach(
                (thread, account) ->
                        split.merge(
                                account.group,
                                account.nanos - base.getOrDefault(thread, 0L),
                                Long::sum));
        return split;
    }

    synchronized Figures.Cpu perEvent(long events) {
        Map<Group, Long> split = split();
        return new Figures.Cpu(
                (double) split.get(Group.SOURCE) / events,
                (double) split.get(Group.EXCHANGE) / events,
                (double) split.get(Group.OPERATORS) / events,
                (double) split.get(Group.GC) / events,
                (double) split.get(Group.JIT) / events,
                (double) split.get(Group.OTHER) / events);
    }
}
