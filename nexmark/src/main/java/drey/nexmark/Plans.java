package drey.nexmark;

import java.io.IOException;

/** What runs natively of each query, and why the rest does not, as a document. */
final class Plans {

    private static final String HEAD =
            """
            # What is native of each query

            Written by `make nexmark-plans`, out of the section that EXPLAIN ends with (Flink %s, parallelism 1, no mini-batches); a test fails
            when it is not true any more. Nodes without state, and those of a query that is not named here, are Flink's: Calc,
            exchange, watermarks, source and sink.

            | query | stateful nodes | native | on Flink, because |
            |---|--:|--:|---|
            """;

    private Plans() {}

    static String document(Options options) throws IOException {
        StringBuilder table = new StringBuilder();
        StringBuilder nodes = new StringBuilder();
        for (Query query : Query.all()) {
            String section =
                    EngineRun.dreySection(new EngineRun(options, query, Run.DREY).explain());
            table.append(row(query, section));
            if (!section.isEmpty()) {
                nodes.append("\n## ").append(query.name()).append("\n\n```\n");
                nodes.append(section).append("\n```\n");
            }
        }
        return HEAD.formatted(Matrix.conditions(options).flink()) + table + nodes;
    }

    private static String row(Query query, String section) {
        long all = section.lines().filter(line -> !line.isBlank()).count();
        long natives = section.lines().filter(Plans::isNative).count();
        String reasons =
                section.lines()
                        .filter(line -> !line.isBlank() && !isNative(line))
                        .map(Plans::reason)
                        .distinct()
                        .reduce((a, b) -> a + "; " + b)
                        .orElse(all == 0 ? "no stateful node" : "");
        return "| %s | %d | %d | %s |%n"
                .formatted(query.name(), all, natives, reasons.replace("|", "\\|"));
    }

    static boolean isNative(String line) {
        return line.endsWith(": native");
    }

    /** {@code Node(...): flink, because} is what is behind the last bracket's colon. */
    private static String reason(String line) {
        String node = line.substring(0, Math.max(0, line.indexOf('(')));
        int at = line.lastIndexOf("): ");
        return node + ": " + (at < 0 ? line : line.substring(at + 3).replaceFirst("^flink: ", ""));
    }
}
