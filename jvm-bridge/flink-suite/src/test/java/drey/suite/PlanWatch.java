package drey.suite;

import static net.bytebuddy.matcher.ElementMatchers.named;

import drey.suite.HarnessSwap.Fields;

import net.bytebuddy.asm.Advice;
import net.bytebuddy.implementation.bytecode.assign.Assigner;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentSkipListSet;

/**
 * What the planner hook made of the plans of a test: for each kind of stateful node whether it became native, and if not, why.
 * Tells why a test has no native execution.
 */
public final class PlanWatch {
    private static final Set<String> VERDICTS = new ConcurrentSkipListSet<>();

    private PlanWatch() {}

    static void install() {
        try {
            HarnessSwap.instrument(
                    Class.forName("drey.plan.Acceleration"), Map.of(Report.class, named("apply")));
        } catch (ClassNotFoundException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Goes to the end of the hook's pass over a plan. */
    static final class Report {
        @Advice.OnMethodExit
        static void exit(@Advice.Return(typing = Assigner.Typing.DYNAMIC) Object report) {
            PlanWatch.add(report);
        }
    }

    /** Called by the code added to the hook. */
    public static void add(Object report) {
        for (Object node : (List<?>) Fields.get(report, "nodes")) {
            String description = (String) Fields.get(node, "description");
            String verdict = (String) Fields.get(node, "verdict");
            String kind = description.replaceFirst("^\\[\\d+]:", "").replaceFirst("(?s)\\(.*", "");
            VERDICTS.add(TestResult.clean(kind + " " + verdict).replace("; ", ", "));
        }
    }

    /** The verdicts since the last call, each once, separated by semicolons. */
    static String take() {
        Set<String> verdicts = new TreeSet<>(VERDICTS);
        VERDICTS.clear();
        return String.join("; ", verdicts);
    }
}
