package drey.nexmark.measure;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import one.profiler.AsyncProfiler;

/**
 * Where a run's CPU went, by layer: async-profiler's samples of the task threads, which go through Java, C and Go alike, say
 * in what proportions; Linux's account of the threads says how much.
 */
public final class Profile {

    /** What a task thread can be busy with. */
    public enum Layer {
        SOURCE("source"),
        CALC("Calc"),
        WATERMARKS("watermarks"),
        EXCHANGE("exchange"),
        FLINK_OPERATOR("Flink's operator"),
        FLINK_STATE("Flink's state"),
        BATCHING("batches in and out"),
        BOUNDARY("JNI and cgo"),
        NATIVE_OPERATOR("native operator"),
        NATIVE_STATE("native state"),
        SINK("digesting sink"),
        REST("rest of the task");

        public final String label;

        Layer(String label) {
            this.label = label;
        }
    }

    /** Beginnings of frames' names; the first that fits decides. Java's have slashes, Go's their import paths, both up to the dot. */
    private static final List<Map.Entry<String, Layer>> BEGINNINGS =
            List.of(
                    Map.entry("drey/rowstate", Layer.NATIVE_STATE),
                    Map.entry("drey/simd", Layer.NATIVE_STATE),
                    Map.entry("drey/native/", Layer.NATIVE_OPERATOR),
                    Map.entry("drey/batch/", Layer.BATCHING),
                    Map.entry("drey/runtime/", Layer.BATCHING),
                    Map.entry("drey/jni/", Layer.BOUNDARY),
                    Map.entry("runtime.cgo", Layer.BOUNDARY),
                    Map.entry("_cgoexp_", Layer.BOUNDARY),
                    Map.entry("main.", Layer.BOUNDARY),
                    Map.entry("drey/nexmark/digest/", Layer.SINK),
                    Map.entry("org/apache/flink/table/runtime/operators/sink/", Layer.SINK),
                    Map.entry("drey/nexmark/source/", Layer.SOURCE),
                    Map.entry("drey/nexmark/generator/", Layer.SOURCE),
                    Map.entry("StreamExecCalc", Layer.CALC),
                    Map.entry("WatermarkGenerator", Layer.WATERMARKS),
                    Map.entry(
                            "org/apache/flink/table/runtime/operators/wmassigners/",
                            Layer.WATERMARKS),
                    Map.entry("org/apache/flink/runtime/state/", Layer.FLINK_STATE),
                    Map.entry("org/apache/flink/state/", Layer.FLINK_STATE),
                    Map.entry("org/rocksdb/", Layer.FLINK_STATE),
                    Map.entry("rocksdb::", Layer.FLINK_STATE),
                    Map.entry("org/apache/flink/table/runtime/operators/", Layer.FLINK_OPERATOR),
                    Map.entry("KeyProjection", Layer.FLINK_OPERATOR),
                    Map.entry("GroupAgg", Layer.FLINK_OPERATOR),
                    Map.entry("LocalGroupAgg", Layer.FLINK_OPERATOR),
                    Map.entry("JoinCondition", Layer.FLINK_OPERATOR),
                    Map.entry("org/apache/flink/runtime/io/", Layer.EXCHANGE),
                    Map.entry("org/apache/flink/runtime/plugable/", Layer.EXCHANGE),
                    Map.entry("org/apache/flink/streaming/runtime/io/", Layer.EXCHANGE),
                    Map.entry("org/apache/flink/streaming/runtime/partitioner/", Layer.EXCHANGE),
                    Map.entry(
                            "org/apache/flink/streaming/runtime/streamrecord/StreamElementSerializer",
                            Layer.EXCHANGE));

    /** CPU time of each thread by its own timer: works without any privilege. */
    private static final String SAMPLING = "event=ctimer,interval=2ms,cstack=vmx,threads";

    private static final List<CpuSplit.Group> NO_TASKS =
            List.of(
                    CpuSplit.Group.EXCHANGE,
                    CpuSplit.Group.GC,
                    CpuSplit.Group.JIT,
                    CpuSplit.Group.OTHER);

    private final String name;
    private final Map<CpuSplit.Group, Map<Layer, Long>> samples =
            new EnumMap<>(CpuSplit.Group.class);

    private Profile(String name) {
        this.name = name;
    }

    public static Profile start(String name) throws IOException {
        AsyncProfiler.getInstance().execute("start," + SAMPLING);
        return new Profile(name);
    }

    public void stop() throws IOException {
        AsyncProfiler.getInstance().execute("stop");
    }

    /** Writes a flame graph and the stacks it is drawn from into a folder, and counts them; before the next profile starts. */
    public void write(Path folder) throws IOException {
        Path stacks = folder.resolve(name + ".stacks");
        AsyncProfiler profiler = AsyncProfiler.getInstance();
        profiler.execute("dump,collapsed,threads,file=" + stacks);
        profiler.execute(
                "dump,flamegraph,threads,title=%s,file=%s"
                        .formatted(name, folder.resolve(name + ".html")));
        for (String line : Files.readAllLines(stacks)) {
            count(line);
        }
    }

    /** A line is {@code [thread tid=1];outermost;…;innermost count}. */
    public void count(String line) {
        int space = line.lastIndexOf(' ');
        String[] frames = line.substring(0, space).split(";");
        String thread = frames[0].replaceFirst("^\\[(.*) tid=\\d+\\]$", "$1");
        if (CpuSplit.isTask(thread)) {
            CpuSplit.Group group =
                    thread.startsWith("Source:") ? CpuSplit.Group.SOURCE : CpuSplit.Group.OPERATORS;
            samples.computeIfAbsent(group, g -> new EnumMap<>(Layer.class))
                    .merge(layer(frames), Long.parseLong(line.substring(space + 1)), Long::sum);
        }
    }

    /** The innermost frame that belongs to a layer decides: a row's getters are their caller's cost. */
    private static Layer layer(String[] frames) {
        for (int i = frames.length - 1; i > 0; i--) {
            for (Map.Entry<String, Layer> beginning : BEGINNINGS) {
                if (frames[i].startsWith(beginning.getKey())) {
                    return beginning.getValue();
                }
            }
        }
        return Layer.REST;
    }

    /** CPU nanoseconds per event of each layer. */
    public Map<Layer, Double> layers(Figures run) {
        Map<Layer, Double> layers = new EnumMap<>(Layer.class);
        samples.forEach(
                (group, counts) -> {
                    long all = counts.values().stream().mapToLong(Long::longValue).sum();
                    counts.forEach(
                            (layer, count) ->
                                    layers.merge(
                                            layer, run.cpu().of(group) * count / all, Double::sum));
                });
        return layers;
    }

    /** The same by name, with the threads that are no tasks: all that the process took. */
    public Map<String, Double> wholeProcess(Figures run) {
        Map<String, Double> layers = new LinkedHashMap<>();
        layers(run).forEach((layer, nanos) -> layers.put(layer.label, nanos));
        for (CpuSplit.Group group : NO_TASKS) {
            layers.put(group.label() + " threads", run.cpu().of(group));
        }
        return layers;
    }

    long sampled() {
        return samples.values().stream()
                .flatMap(counts -> counts.values().stream())
                .mapToLong(Long::longValue)
                .sum();
    }

    /** Both engines side by side, the largest difference first. */
    public static String table(Profile stock, Figures stockRun, Profile drey, Figures dreyRun) {
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
        for (CpuSplit.Group group : NO_TASKS) {
            rows.add(
                    row(
                            group.label() + " threads",
                            stockRun.cpu().of(group),
                            dreyRun.cpu().of(group)));
        }
        rows.sort((p, q) -> Double.compare(Math.abs(number(q[3])), Math.abs(number(p[3]))));
        rows.add(0, new String[] {"CPU-ns/event", "stock", "drey", "drey pays more"});
        rows.add(row("whole process", stockRun.cpuNsPerEvent(), dreyRun.cpuNsPerEvent()));
        return TextTable.align(rows)
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
