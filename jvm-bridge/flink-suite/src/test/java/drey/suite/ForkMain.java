package drey.suite;

import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;

import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.TestExecutionResult;
import org.junit.platform.engine.support.descriptor.ClassSource;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.Launcher;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.TestExecutionListener;
import org.junit.platform.launcher.TestIdentifier;
import org.junit.platform.launcher.TestPlan;
import org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder;
import org.junit.platform.launcher.core.LauncherFactory;

import java.io.BufferedWriter;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The forked virtual machine: runs Flink's test classes one after the other and appends a line per test to a file. Each
 * line is on disk before the next test starts, so that a crash leaves the name of the test it happened in.
 *
 * <p>Arguments: the result file, then {@code class} or {@code class#method} each.
 */
final class ForkMain {
    /** Starts a line that names a test which has begun. */
    static final String BEGIN = ">";

    /** The line that says the fork came to its end. */
    static final String END = "end";

    private ForkMain() {}

    public static void main(String[] args) throws IOException {
        if (NativeCounters.available()) {
            HarnessSwap.install();
            PlanWatch.install();
        }
        try (BufferedWriter out =
                Files.newBufferedWriter(
                        Path.of(args[0]), StandardOpenOption.CREATE, StandardOpenOption.APPEND)) {
            Launcher launcher = LauncherFactory.create();
            for (int i = 1; i < args.length; i++) {
                run(launcher, args[i], new Recorder(className(args[i]), out));
            }
            out.write(END + "\n");
        }
        // Flink's tests leave threads behind that would keep the virtual machine alive.
        Runtime.getRuntime().halt(0);
    }

    static String className(String selected) {
        int hash = selected.indexOf('#');
        return hash < 0 ? selected : selected.substring(0, hash);
    }

    private static void run(Launcher launcher, String selected, Recorder recorder) {
        var request =
                LauncherDiscoveryRequestBuilder.request()
                        .selectors(selectClass(className(selected)));
        int hash = selected.indexOf('#');
        if (hash >= 0) {
            String method = selected.substring(hash + 1);
            request.filters(
                    (PostDiscoveryFilter)
                            test ->
                                    FilterResult.includedIf(
                                            test.getSource()
                                                    .filter(MethodSource.class::isInstance)
                                                    .map(
                                                            s ->
                                                                    ((MethodSource) s)
                                                                            .getMethodName()
                                                                            .equals(method))
                                                    .orElse(true)));
        }
        try {
            launcher.execute(request.build(), recorder);
        } catch (Throwable t) {
            recorder.failedOutside(t);
        }
    }

    /** Writes one line per test, with the native rows counted between its start and its end. */
    private static final class Recorder implements TestExecutionListener {
        private final String className;
        private final BufferedWriter out;
        private final Map<String, Integer> names = new HashMap<>();
        private TestPlan plan;
        private String running;
        private Map<String, Long> rowsBefore = Map.of();
        private long startNanos;

        Recorder(String className, BufferedWriter out) {
            this.className = className;
            this.out = out;
        }

        @Override
        public void testPlanExecutionStarted(TestPlan testPlan) {
            plan = testPlan;
        }

        @Override
        public void executionStarted(TestIdentifier test) {
            guarded(() -> started(test));
        }

        @Override
        public void executionFinished(TestIdentifier test, TestExecutionResult result) {
            guarded(() -> finished(test, result));
        }

        @Override
        public void executionSkipped(TestIdentifier test, String reason) {
            guarded(() -> record(name(test), TestResult.Status.SKIPPED, 0, Map.of(), reason));
        }

        /** JUnit only logs what a listener throws; a result that got lost must not look like a good run. */
        private static void guarded(Runnable step) {
            try {
                step.run();
            } catch (Throwable t) {
                t.printStackTrace();
                Runtime.getRuntime().halt(70);
            }
        }

        private void started(TestIdentifier test) {
            if (!test.isTest()) {
                return;
            }
            running = name(test);
            write(BEGIN + className + "\t" + TestResult.clean(running));
            rowsBefore = NativeCounters.read();
            PlanWatch.take();
            startNanos = System.nanoTime();
        }

        private void finished(TestIdentifier test, TestExecutionResult result) {
            if (test.isTest()) {
                TestResult.Status status =
                        switch (result.getStatus()) {
                            case SUCCESSFUL -> TestResult.Status.PASSED;
                            case ABORTED -> TestResult.Status.SKIPPED;
                            case FAILED -> TestResult.Status.FAILED;
                        };
                long millis = (System.nanoTime() - startNanos) / 1_000_000;
                record(running, status, millis, NativeCounters.since(rowsBefore), message(result));
                result.getThrowable().ifPresent(t -> print(running, t));
            } else if (result.getStatus() != TestExecutionResult.Status.SUCCESSFUL) {
                // A failing @BeforeAll hides its tests; one failure stands for them.
                TestResult.Status status =
                        result.getStatus() == TestExecutionResult.Status.ABORTED
                                ? TestResult.Status.SKIPPED
                                : TestResult.Status.FAILED;
                record(name(test), status, 0, Map.of(), message(result));
                result.getThrowable().ifPresent(t -> print(test.getDisplayName(), t));
            }
        }

        void failedOutside(Throwable t) {
            print(className, t);
            record(Fork.WHOLE_CLASS, TestResult.Status.FAILED, 0, Map.of(), t.toString());
        }

        private void record(
                String name,
                TestResult.Status status,
                long millis,
                Map<String, Long> rows,
                String message) {
            write(
                    new TestResult(className, name, status, millis, rows, PlanWatch.take(), message)
                            .toLine());
        }

        private void write(String line) {
            try {
                out.write(line + "\n");
                out.flush();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        private static String message(TestExecutionResult result) {
            return result.getThrowable().map(ForkMain::summary).orElse("");
        }

        private static void print(String name, Throwable t) {
            System.err.println("=== " + name);
            t.printStackTrace();
        }

        /** The method, the invocation's display name where a method has several, a number where both repeat. */
        private String name(TestIdentifier test) {
            List<String> parts = new ArrayList<>();
            TestIdentifier at = test;
            String method = null;
            while (at != null) {
                Optional<String> found =
                        at.getSource()
                                .filter(MethodSource.class::isInstance)
                                .map(s -> ((MethodSource) s).getMethodName());
                if (found.isPresent()) {
                    method = found.get();
                }
                boolean template =
                        at.getUniqueIdObject().getLastSegment().getType().endsWith("-invocation");
                if (template) {
                    parts.add(0, at.getDisplayName());
                } else if (at.getSource().filter(ClassSource.class::isInstance).isPresent()
                        && at.getUniqueIdObject()
                                .getLastSegment()
                                .getType()
                                .equals("nested-class")) {
                    parts.add(0, at.getDisplayName());
                }
                at = plan.getParent(at).orElse(null);
            }
            // Some display names hold paths, which differ from machine to machine.
            String work = System.getProperty("user.dir") + "/";
            parts.replaceAll(part -> part.replace(work, ""));
            String name = method == null ? "(" + test.getDisplayName() + ")" : method;
            if (!parts.isEmpty()) {
                name += "[" + String.join("|", parts) + "]";
            }
            int seen = names.merge(name, 1, Integer::sum);
            return seen == 1 ? name : name + "#" + seen;
        }
    }

    /** The throwable and its innermost cause, cut short. */
    static String summary(Throwable t) {
        Throwable root = t;
        while (root.getCause() != null && root.getCause() != root) {
            root = root.getCause();
        }
        String text = TestResult.clean(root == t ? t.toString() : t + " <- " + root);
        return text.length() > 600 ? text.substring(0, 600) + "…" : text;
    }
}
