package drey.nexmark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.text.ParseException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import jdk.jfr.Configuration;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordedEvent;
import jdk.jfr.consumer.RecordedFrame;
import jdk.jfr.consumer.RecordedThread;
import jdk.jfr.consumer.RecordingFile;

/**
 * Where a run's CPU went, by layer: Flight Recorder's samples of the task threads say in what proportions, Linux's account
 * of the threads says how much. Time inside the library is one layer here; what it consists of, a sampler that knows Go
 * must say.
 */
final class Profile {

    /** What a task thread can be busy with. */
    enum Layer {
        SOURCE("source"),
        CALC("Calc, watermarks"),
        EXCHANGE("exchange"),
        OPERATOR("Flink's operator"),
        STATE("Flink's state"),
        BATCHING("batches, in and out"),
        NATIVE("inside the library"),
        SINK("digesting sink"),
        REST("rest of the task");

        final String label;

        Layer(String label) {
            this.label = label;
        }
    }

    private static final Duration PERIOD = Duration.ofMillis(10);

    private final Recording recording;
    private final Map<CpuSplit.Group, Map<Layer, Long>> samples =
            new EnumMap<>(CpuSplit.Group.class);
    private final Map<String, Long> stacks = new TreeMap<>();

    private Profile(Recording recording) {
        this.recording = recording;
    }

    static Profile start() throws IOException, ParseException {
        Recording recording = new Recording(Configuration.getConfiguration("profile"));
        recording.enable("jdk.ExecutionSample").withPeriod(PERIOD);
        recording.enable("jdk.NativeMethodSample").withPeriod(PERIOD);
        recording.start();
        return new Profile(recording);
    }

    /** Ends the recording and keeps it in a file, for the JDK's own tools; reads the samples from there. */
    void stop(Path file) throws IOException {
        recording.stop();
        recording.dump(file);
        recording.close();
        try (RecordingFile events = new RecordingFile(file)) {
            while (events.hasMoreEvents()) {
                RecordedEvent event = events.readEvent();
                String type = event.getEventType().getName();
                if (type.equals("jdk.ExecutionSample") || type.equals("jdk.NativeMethodSample")) {
                    count(event);
                }
            }
        }
    }

    private void count(RecordedEvent event) {
        RecordedThread thread = event.getThread("sampledThread");
        if (thread == null || event.getStackTrace() == null || thread.getJavaName() == null) {
            return;
        }
        String name = thread.getJavaName();
        if (!CpuSplit.isTask(name)) {
            return;
        }
        CpuSplit.Group group =
                name.startsWith("Source:") ? CpuSplit.Group.SOURCE : CpuSplit.Group.OPERATORS;
        List<RecordedFrame> frames = event.getStackTrace().getFrames();
        samples.computeIfAbsent(group, g -> new EnumMap<>(Layer.class))
                .merge(layer(frames), 1L, Long::sum);
        List<String> names = new ArrayList<>();
        for (RecordedFrame frame : frames) {
            names.add(frame.getMethod().getType().getName() + "." + frame.getMethod().getName());
        }
        Collections.reverse(names);
        stacks.merge(String.join(";", names), 1L, Long::sum);
    }

    /** The innermost frame that belongs to a layer decides: a row's getters are their caller's cost. */
    private static Layer layer(List<RecordedFrame> frames) {
        for (RecordedFrame frame : frames) {
            Layer layer = layer(frame.getMethod().getType().getName());
            if (layer != null) {
                return layer;
            }
        }
        return Layer.REST;
    }

    private static Layer layer(String type) {
        if (type.startsWith("drey.jni.")) {
            return Layer.NATIVE;
        }
        if (type.startsWith("drey.batch.") || type.startsWith("drey.runtime.")) {
            return Layer.BATCHING;
        }
        if (type.startsWith("drey.nexmark.digest.") || type.contains(".operators.sink.")) {
            return Layer.SINK;
        }
        if (type.startsWith("drey.nexmark.source.") || type.startsWith("drey.nexmark.generator.")) {
            return Layer.SOURCE;
        }
        if (type.startsWith("StreamExecCalc")
                || type.startsWith("WatermarkGenerator")
                || type.contains(".operators.wmassigners.")) {
            return Layer.CALC;
        }
        if (type.startsWith("org.apache.flink.runtime.state.")
                || type.startsWith("org.apache.flink.state.")
                || type.startsWith("org.rocksdb.")) {
            return Layer.STATE;
        }
        if (type.startsWith("org.apache.flink.table.runtime.operators.")
                || type.startsWith("KeyProjection")
                || type.startsWith("GroupAgg")
                || type.startsWith("JoinCondition")) {
            return Layer.OPERATOR;
        }
        if (type.startsWith("org.apache.flink.runtime.io.")
                || type.startsWith("org.apache.flink.runtime.plugable.")
                || type.startsWith("org.apache.flink.streaming.runtime.io.")
                || type.startsWith("org.apache.flink.streaming.runtime.partitioner.")
                || type.startsWith(
                        "org.apache.flink.streaming.runtime.streamrecord.StreamElementSerializer")) {
            return Layer.EXCHANGE;
        }
        return null;
    }

    /** CPU nanoseconds per event of each layer. */
    Map<Layer, Double> layers(RunResult run) {
        Map<Layer, Double> layers = new EnumMap<>(Layer.class);
        samples.forEach(
                (group, counts) -> {
                    long all = counts.values().stream().mapToLong(Long::longValue).sum();
                    counts.forEach(
                            (layer, count) ->
                                    layers.merge(
                                            layer,
                                            run.cpuPerEvent(group) * count / all,
                                            Double::sum));
                });
        return layers;
    }

    long sampled() {
        return samples.values().stream()
                .flatMap(counts -> counts.values().stream())
                .mapToLong(Long::longValue)
                .sum();
    }

    /** Stacks, outermost frame first, each with its count: what flame graphs are drawn from. */
    void writeStacks(Path file) throws IOException {
        StringBuilder text = new StringBuilder();
        stacks.forEach((stack, count) -> text.append(stack).append(' ').append(count).append('\n'));
        Files.writeString(file, text);
    }

    /** Both engines side by side, the largest difference first. */
    static String table(Profile stock, RunResult stockRun, Profile drey, RunResult dreyRun) {
        Map<Layer, Double> a = stock.layers(stockRun);
        Map<Layer, Double> b = drey.layers(dreyRun);
        List<String[]> rows = new ArrayList<>();
        for (Layer layer : Layer.values()) {
            double x = a.getOrDefault(layer, 0.0);
            double y = b.getOrDefault(layer, 0.0);
            if (x + y > 0) {
                rows.add(row(layer.label, x, y));
            }
        }
        for (CpuSplit.Group group :
                List.of(CpuSplit.Group.GC, CpuSplit.Group.JIT, CpuSplit.Group.OTHER)) {
            rows.add(
                    row(
                            group.label() + " threads",
                            stockRun.cpuPerEvent(group),
                            dreyRun.cpuPerEvent(group)));
        }
        rows.sort((p, q) -> Double.compare(Math.abs(number(q[3])), Math.abs(number(p[3]))));
        rows.add(0, new String[] {"CPU-ns/event", "stock", "drey", "drey pays more"});
        rows.add(row("whole process", stockRun.cpuPerEvent(), dreyRun.cpuPerEvent()));
        return Comparison.align(rows)
                + "(%,d and %,d samples of task threads)"
                        .formatted(stock.sampled(), drey.sampled());
    }

    private static String[] row(String name, double stock, double drey) {
        return new String[] {
            name,
            "%,.0f".formatted(stock),
            "%,.0f".formatted(drey),
            "%+,.0f".formatted(drey - stock)
        };
    }

    private static double number(String text) {
        return Double.parseDouble(text.replace(",", ""));
    }
}
