package drey.plan;

import java.util.List;

/**
 * What became of a plan.
 *
 * @param nodes every stateful node, from the sinks up, each once
 * @param remarks what the user should know beside
 */
record PlanReport(List<Node> nodes, List<String> remarks) {

    static final PlanReport EMPTY = new PlanReport(List.of(), List.of());

    private static final String TITLE = "== Drey ==";
    private static final String JSON_TITLE = "== Physical Execution Plan ==";

    /**
     * @param description the node, as EXPLAIN describes it
     * @param verdict {@code native} or {@code flink: <reason>}
     */
    record Node(String description, String verdict) {
        static final String NATIVE = "native";

        static Node onDrey(String description) {
            return new Node(description, NATIVE);
        }

        static Node onFlink(String description, String reason) {
            return new Node(description, "flink: " + reason);
        }

        boolean isNative() {
            return verdict.equals(NATIVE);
        }
    }

    boolean isEmpty() {
        return nodes.isEmpty();
    }

    long nativeNodes() {
        return nodes.stream().filter(Node::isNative).count();
    }

    /** One line per node and remark, each ended by the given separator. */
    String lines(String separator) {
        StringBuilder lines = new StringBuilder();
        nodes.forEach(
                node ->
                        lines.append(node.description())
                                .append(": ")
                                .append(node.verdict())
                                .append(separator));
        remarks.forEach(remark -> lines.append("remark: ").append(remark).append(separator));
        return lines.toString();
    }

    /**
     * Adds the section to an explained plan: at its end, but before a JSON plan, which readers take from its title to the
     * end of the text.
     */
    String addTo(String explained) {
        if (isEmpty()) {
            return explained;
        }
        String eol = System.lineSeparator();
        String section = TITLE + eol + lines(eol);
        int json = explained.lastIndexOf(eol + JSON_TITLE + eol);
        if (json < 0) {
            return explained + eol + section;
        }
        return explained.substring(0, json) + eol + section + explained.substring(json);
    }
}
