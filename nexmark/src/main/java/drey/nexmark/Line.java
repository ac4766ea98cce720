package drey.nexmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * One measured run as a line of the results file.
 *
 * @param cpu CPU nanoseconds per event, of the whole process
 * @param split the same by group of threads, in the order of {@link CpuSplit.Group}
 * @param verdict {@code native}: compared and proven native; {@code flink}: compared, nothing native; or {@code invalid}
 */
record Line(
        String query,
        Conditions conditions,
        String engine,
        int run,
        double seconds,
        double cpu,
        List<Double> split,
        long rowsOut,
        long peakRss,
        long p99Nanos,
        long nativeRows,
        Checkpoints checkpoints,
        String verdict) {

    static final String HEADER =
            "query,flink,rung,backend,parallelism,object_reuse,minibatch,checkpoint,events,engine,run,seconds,"
                    + "cpu_ns_per_event,cpu_source,cpu_operators,cpu_gc,cpu_jit,cpu_other,"
                    + "rows_out,peak_rss,p99_batching_ns,native_rows,"
                    + "checkpoints,checkpoint_mean_ms,checkpoint_max_ms,checkpoint_last_bytes,verdict";

    /** What must be equal for two runs to be compared. */
    record Conditions(
            String flink,
            String rung,
            String backend,
            int parallelism,
            boolean objectReuse,
            boolean miniBatch,
            String checkpoint,
            long events) {

        @Override
        public String toString() {
            return "Flink %s, %,d events, %s, %s state, parallelism %d, object reuse %s, mini-batch %s%s"
                    .formatted(
                            flink,
                            events,
                            rung,
                            backend,
                            parallelism,
                            objectReuse ? "on" : "off",
                            miniBatch ? "on" : "off",
                            checkpoint.isEmpty() ? "" : ", a checkpoint every " + checkpoint);
        }
    }

    double eventsPerSecond() {
        return conditions.events / seconds;
    }

    @Override
    public String toString() {
        StringBuilder cpus = new StringBuilder();
        split.forEach(value -> cpus.append(String.format(Locale.ROOT, "%.1f,", value)));
        return String.format(
                Locale.ROOT,
                "%s,%s,%s,%s,%d,%s,%s,%s,%d,%s,%d,%.4f,%.1f,%s%d,%d,%d,%d,%d,%d,%d,%d,%s",
                query,
                conditions.flink,
                conditions.rung,
                conditions.backend,
                conditions.parallelism,
                conditions.objectReuse,
                conditions.miniBatch,
                conditions.checkpoint,
                conditions.events,
                engine,
                run,
                seconds,
                cpu,
                cpus,
                rowsOut,
                peakRss,
                p99Nanos,
                nativeRows,
                checkpoints.completed(),
                checkpoints.meanMillis(),
                checkpoints.maxMillis(),
                checkpoints.lastBytes(),
                verdict);
    }

    static Line parse(String line) {
        String[] c = line.split(",");
        if (c.length != HEADER.split(",").length) {
            throw new IllegalArgumentException("not a line of Nexmark results: " + line);
        }
        List<Double> split = new ArrayList<>();
        for (int i = 13; i < 18; i++) {
            split.add(Double.parseDouble(c[i]));
        }
        return new Line(
                c[0],
                new Conditions(
                        c[1],
                        c[2],
                        c[3],
                        Integer.parseInt(c[4]),
                        Boolean.parseBoolean(c[5]),
                        Boolean.parseBoolean(c[6]),
                        c[7],
                        Long.parseLong(c[8])),
                c[9],
                Integer.parseInt(c[10]),
                Double.parseDouble(c[11]),
                Double.parseDouble(c[12]),
                split,
                Long.parseLong(c[18]),
                Long.parseLong(c[19]),
                Long.parseLong(c[20]),
                Long.parseLong(c[21]),
                new Checkpoints(
                        Long.parseLong(c[22]),
                        Long.parseLong(c[23]),
                        Long.parseLong(c[24]),
                        Long.parseLong(c[25])),
                c[26]);
    }

    /** The lines of a results file; none if there is no such file. */
    static List<Line> read(Path csv) throws IOException {
        if (csv == null || !Files.exists(csv)) {
            return List.of();
        }
        List<String> lines = Files.readAllLines(csv);
        if (lines.isEmpty() || !lines.get(0).equals(HEADER)) {
            throw new IOException(csv + " was not written by this version: move it away");
        }
        return lines.stream().skip(1).map(Line::parse).toList();
    }

    static void append(Path csv, List<Line> lines) throws IOException {
        StringBuilder text = new StringBuilder();
        if (!Files.exists(csv)) {
            text.append(HEADER).append('\n');
        }
        lines.forEach(line -> text.append(line).append('\n'));
        if (csv.getParent() != null) {
            Files.createDirectories(csv.getParent());
        }
        Files.writeString(csv, text, StandardOpenOption.CREATE, StandardOpenOption.APPEND);
    }
}
