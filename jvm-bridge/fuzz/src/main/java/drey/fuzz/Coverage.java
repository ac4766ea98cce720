package drey.fuzz;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** What was run, and how much of it natively. */
final class Coverage {

    private final Map<String, int[]> operators = new TreeMap<>();
    private final Map<String, Integer> reasons = new TreeMap<>();
    private final Map<String, Integer> remarks = new TreeMap<>();
    private final Map<String, Integer> orders = new TreeMap<>();
    int queries;
    int nativeQueries;
    int partlyNative;
    int stateless;
    int batchCompared;
    int jobs;
    int restarted;
    int rescaled;
    long rows;

    void add(FuzzCase fuzzCase, Outcome stock, Outcome drey) {
        rows += fuzzCase.rows();
        jobs++;
        restarted += fuzzCase.failure() == null ? 0 : 1;
        rescaled += fuzzCase.rescale() == null ? 0 : 1;
        for (Unit unit : fuzzCase.units()) {
            List<PlanLog.Node> nodes = drey.plans().getOrDefault(unit.name(), List.of());
            int n = unit.queries().size();
            queries += n;
            unit.queries()
                    .forEach(q -> orders.merge(q.order().name().toLowerCase(), 1, Integer::sum));
            long accelerated = nodes.stream().filter(node -> node.reason() == null).count();
            if (nodes.isEmpty()) {
                stateless += n;
            } else if (accelerated == nodes.size()) {
                nativeQueries += n;
            } else if (accelerated > 0) {
                partlyNative += n;
            }
            for (PlanLog.Node node : nodes) {
                operators
                        .computeIfAbsent(node.operator(), o -> new int[2])[
                        node.reason() == null ? 0 : 1]++;
                if (node.reason() != null) {
                    reasons.merge(node.operator() + ": " + general(node.reason()), 1, Integer::sum);
                }
            }
        }
    }

    /** Something to count that is no difference. */
    void remark(String text) {
        remarks.merge(text, 1, Integer::sum);
    }

    /** A reason without the names and numbers of one query. */
    private static String general(String reason) {
        return reason.replaceAll("column \\S+ has", "column has").replaceAll("\\d+ ms", "n ms");
    }

    String report() {
        StringBuilder s = new StringBuilder();
        s.append(
                "queries: %d, %d wholly native, %d partly, %d without state; %d compared with batch, %d rows of input%n"
                        .formatted(
                                queries,
                                nativeQueries,
                                partlyNative,
                                stateless,
                                batchCompared,
                                rows));
        s.append(
                "jobs: %d, of which %d fail and restart, %d go on with another parallelism%n"
                        .formatted(jobs, restarted, rescaled));
        s.append("determined:");
        orders.forEach((order, n) -> s.append(' ').append(order).append(' ').append(n));
        s.append("\noperators (native, flink):\n");
        operators.forEach(
                (operator, n) -> s.append("  %-28s %6d %6d%n".formatted(operator, n[0], n[1])));
        list(s, "on Flink because:\n", reasons);
        list(s, "beside:\n", remarks);
        return s.toString();
    }

    private static void list(StringBuilder s, String title, Map<String, Integer> counts) {
        if (counts.isEmpty()) {
            return;
        }
        s.append(title);
        counts.entrySet().stream()
                .sorted(Map.Entry.<String, Integer>comparingByValue(Comparator.reverseOrder()))
                .limit(30)
                .forEach(e -> s.append("  %6d  %s%n".formatted(e.getValue(), e.getKey())));
    }
}
