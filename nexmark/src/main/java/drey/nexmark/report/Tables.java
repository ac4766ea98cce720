package drey.nexmark.report;

import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;

/** Tables in Markdown. */
final class Tables {

    private Tables() {}

    /** Medians of the timed runs, under all conditions that are asked for. */
    static String medians(Data data, Predicate<Conditions> which) {
        StringBuilder text = new StringBuilder();
        data.byConditions()
                .forEach(
                        (conditions, group) -> {
                            if (which.test(conditions)) {
                                text.append(conditions).append(":\n\n");
                                text.append(
                                                "| query | stock events/s | Drey events/s | wall | stock CPU-ns/event")
                                        .append(
                                                " | Drey CPU-ns/event | CPU | CPU beyond the source | |\n")
                                        .append("|---|--:|--:|--:|--:|--:|--:|--:|---|\n");
                                group.forEach(s -> text.append(row(data, s)));
                                text.append('\n').append(Summary.lastLine(group, 0));
                                text.append("\n\n");
                            }
                        });
        return text.toString();
    }

    private static String row(Data data, Summary s) {
        double stock = Summary.median(s.stock(), Line::cpu);
        double drey = Summary.median(s.drey(), Line::cpu);
        double source = data.source(s.conditions());
        return "| %s | %,.0f | %,.0f | %s | %,.0f | %,.0f | %s | %s | %s |%n"
                .formatted(
                        s.query(),
                        Summary.median(s.stock(), Line::eventsPerSecond),
                        Summary.median(s.drey(), Line::eventsPerSecond),
                        s.wall(),
                        stock,
                        drey,
                        s.cpu(),
                        source == 0 || drey <= source
                                ? "-"
                                : "%.2fx".formatted((stock - source) / (drey - source)),
                        verdict(s));
    }

    static String verdict(Summary s) {
        return s.isNative() ? "native" : s.isValid() ? "all on Flink" : "INVALID";
    }

    /** Latency, memory, state, checkpoints and recovery. */
    static String rest(Data data) {
        StringBuilder text = new StringBuilder();
        data.byConditions()
                .forEach(
                        (conditions, group) -> {
                            text.append(conditions).append(" (stock / Drey):\n\n");
                            text.append(
                                    "| query | p50 ms | p99 ms | peak RSS MB | peak heap MB | native MB |"
                                            + " keys | state bytes per key | full checkpoint MB | ms | recovery ms |\n"
                                            + "|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n");
                            group.forEach(s -> text.append(restRow(data, s)));
                            text.append('\n');
                        });
        return text.toString();
    }

    private static String restRow(Data data, Summary s) {
        Map<String, StateLine> states = data.states(s);
        Map<String, RecoveryLine> recoveries = data.recoveries(s);
        StateLine a = states.get("stock");
        StateLine b = states.get("drey");
        long keys = b == null ? 0 : b.size().stateKeys();
        return "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |%n"
                .formatted(
                        s.query(),
                        both(s, l -> l.figures().latencyP50Ns() / 1e6, "%.1f"),
                        both(s, l -> l.figures().latencyP99Ns() / 1e6, "%.1f"),
                        both(s, l -> l.figures().peakRss() / 1e6, "%,.0f"),
                        both(s, l -> l.figures().peakHeap() / 1e6, "%,.0f"),
                        both(s, l -> l.figures().nativeBytes() / 1e6, "%,.0f"),
                        keys == 0 ? "-" : "%,d".formatted(keys),
                        keys == 0
                                ? "-"
                                : "%,.0f / %,.0f"
                                        .formatted(bytesPerKey(a, keys), bytesPerKey(b, keys)),
                        a == null || b == null
                                ? "-"
                                : "%,.1f / %,.1f"
                                        .formatted(
                                                a.size().fullCheckpointBytes() / 1e6,
                                                b.size().fullCheckpointBytes() / 1e6),
                        a == null || b == null
                                ? "-"
                                : "%,d / %,d"
                                        .formatted(
                                                a.size().fullCheckpointMs(),
                                                b.size().fullCheckpointMs()),
                        recoveries.size() < 2
                                ? "-"
                                : "%,d / %,d"
                                        .formatted(
                                                recoveries.get("stock").recoveryMs(),
                                                recoveries.get("drey").recoveryMs()));
    }

    /**
     * Of the heap backend what the heap grew, of native state its own count on top; RocksDB's is on disk and compacted at its
     * leisure: a full checkpoint stands for it.
     */
    static double bytesPerKey(StateLine line, long keys) {
        boolean rocks =
                line.engine().equals("stock") && line.conditions().backend().equals("rocksdb");
        long bytes =
                rocks
                        ? line.size().fullCheckpointBytes()
                        : line.engine().equals("stock")
                                ? line.size().heapBytes()
                                : line.size().nativeBytes();
        return (double) bytes / keys;
    }

    private static String both(Summary s, ToDoubleFunction<Line> what, String format) {
        double stock = Summary.median(s.stock(), what);
        double drey = Summary.median(s.drey(), what);
        return stock == 0 && drey == 0 ? "-" : (format + " / " + format).formatted(stock, drey);
    }

    /** How the cost grows with events, and of operators alone with keys. */
    static String scale(Data data) {
        StringBuilder text = new StringBuilder();
        if (!data.scale().isEmpty()) {
            text.append("CPU per event as events grow, ns (stock / Drey):\n\n");
            text.append("| query | backend | rung | events | stock | Drey | CPU | wall | |\n");
            text.append("|---|---|---|--:|--:|--:|--:|--:|---|\n");
            for (Summary s : data.scale()) {
                text.append(
                        "| %s | %s | %s | %,d | %,.0f | %,.0f | %s | %s | %s |%n"
                                .formatted(
                                        s.query(),
                                        s.conditions().backend(),
                                        s.conditions().rung(),
                                        s.conditions().events(),
                                        Summary.median(s.stock(), Line::cpu),
                                        Summary.median(s.drey(), Line::cpu),
                                        s.cpu(),
                                        s.wall(),
                                        verdict(s)));
            }
            text.append('\n');
        }
        if (!data.keys().isEmpty()) {
            text.append("CPU per row of the operator alone as keys grow, ns:\n\n");
            text.append("| operator | backend | keys | rows | stock | Drey | | bytes per key |\n");
            text.append("|---|---|--:|--:|--:|--:|--:|--:|\n");
            for (KeysLine stock : data.keys()) {
                KeysLine drey = partner(data.keys(), stock);
                if (stock.engine().equals("stock") && drey != null) {
                    text.append(
                            "| %s | %s | %,d | %,d | %,.0f | %,.0f | %.2fx | %,.0f / %,.0f |%n"
                                    .formatted(
                                            stock.operator(),
                                            stock.backend(),
                                            stock.keys(),
                                            stock.rows(),
                                            stock.cpuNsPerRow(),
                                            drey.cpuNsPerRow(),
                                            stock.cpuNsPerRow() / drey.cpuNsPerRow(),
                                            stock.stateBytesPerKey(),
                                            drey.stateBytesPerKey()));
                }
            }
            text.append('\n');
        }
        return text.toString();
    }

    private static KeysLine partner(List<KeysLine> all, KeysLine stock) {
        KeysLine found = null;
        for (KeysLine line : all) {
            if (line.engine().equals("drey")
                    && line.operator().equals(stock.operator())
                    && line.backend().equals(stock.backend())
                    && line.keys() == stock.keys()
                    && line.rows() == stock.rows()) {
                found = line;
            }
        }
        return found;
    }
}
