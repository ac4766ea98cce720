package drey.nexmark.report;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * Makes a page and tables out of a results file: {@code Report results.csv report.html report.md [README.md RESULTS.md]}. The
 * page needs nothing beside itself. In a README the lines between {@link #BEGIN} and {@link #END} become the medians under
 * plain settings; RESULTS.md becomes all tables: nobody writes figures there by hand.
 */
public final class Report {

    static final String BEGIN = "<!-- begin: written by make nexmark-report -->";
    static final String END = "<!-- end: written by make nexmark-report -->";

    private static final String ELSEWHERE =
            "Other settings, latency, memory, state, recovery, scale, and what is left to win: [nexmark/RESULTS.md](nexmark/RESULTS.md)."
                    + " What is native of each query: [nexmark/PLANS.md](nexmark/PLANS.md).\n";

    private Report() {}

    public static void main(String[] args) throws IOException {
        if (args.length != 3 && args.length != 5) {
            System.err.println(
                    "usage: Report results.csv report.html report.md [README.md RESULTS.md]");
            System.exit(2);
        }
        Data data = Data.read(Path.of(args[0]));
        if (data.summaries().isEmpty() && data.scale().isEmpty()) {
            System.err.println("nexmark: " + args[0] + " has no results yet: make nexmark");
            System.exit(2);
        }
        Files.writeString(Path.of(args[1]), new Page(data).html());
        Files.writeString(Path.of(args[2]), document(data));
        if (args.length == 5) {
            Path readme = Path.of(args[3]);
            String table =
                    "%s\n\n%s%s"
                            .formatted(
                                    data.origin(),
                                    Tables.medians(data, Report::isPlain),
                                    ELSEWHERE);
            Files.writeString(readme, replaced(Files.readString(readme), table));
            Files.writeString(Path.of(args[4]), document(data));
        }
        System.out.println("report: " + args[1] + ", tables: " + args[2]);
        System.out.println(Summary.lastLine(data.summaries(), 0));
    }

    static boolean isPlain(Conditions c) {
        return c.rung().equals("replay")
                && c.parallelism() == 1
                && c.objectReuse()
                && !c.miniBatch()
                && c.checkpoint().isEmpty();
    }

    static String document(Data data) {
        return """
        # Nexmark: results

        Written by `make nexmark-report`. %s
        `wall` and `CPU` are stock Flink's cost divided by Drey's, medians of alternating pairs with the lowest and the highest pair.

        ## Time and CPU

        %s
        ## Latency, memory, state, recovery

        p50 and p99: from an event's emission until the sink has all that follows from it, at full load. Peak heap includes garbage. State
        bytes per key: growth of the heap (heap backend), size of a full checkpoint (RocksDB), the operators' own count (Drey), over the
        keys of native operators. Recovery: from `kill -9` of the TaskManager to all tasks running again with their state.

        %s
        ## What is left to win

        %s
        ## Scale

        %s"""
                .formatted(
                        data.origin(),
                        Tables.medians(data, c -> true),
                        Tables.rest(data),
                        Amdahl.table(data),
                        Tables.scale(data));
    }

    /** A text with what stands between the marks replaced. */
    static String replaced(String text, String between) {
        int begin = text.indexOf(BEGIN);
        int end = text.indexOf(END);
        if (begin < 0 || end < begin) {
            throw new IllegalArgumentException(
                    "no lines '%s' and '%s' to write between".formatted(BEGIN, END));
        }
        return text.substring(0, begin + BEGIN.length())
                + "\n"
                + between.stripTrailing()
                + "\n"
                + text.substring(end);
    }
}
