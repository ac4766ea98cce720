package drey.plan;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.dag.Transformation;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.table.api.config.OptimizerConfigOptions;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.planner.plan.nodes.exec.ExecEdge;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNode;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeBase;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeGraph;
import org.apache.flink.table.planner.plan.nodes.exec.serde.SerdeContext;
import org.apache.flink.table.planner.plan.nodes.exec.stream.StreamExecMultiJoin;
import org.apache.flink.table.runtime.typeutils.InternalTypeInfo;
import org.apache.flink.table.types.logical.RowType;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** One pass over a translated plan. */
final class Acceleration {

    private static final Logger LOG = LoggerFactory.getLogger(Acceleration.class);

    /** A translator goes in here once the library has its operator. */
    static final List<Translator> TRANSLATORS =
            Stream.concat(
                            Stream.of(
                                    new DeduplicateTranslator(),
                                    new RankTranslator(),
                                    new JoinTranslator()),
                            AggregateTranslator.ALL.stream())
                    .toList();

    /** What the user may want to know of nodes without a translator. */
    private static final Map<Class<?>, String> HINTS =
            Map.of(
                    StreamExecMultiJoin.class,
                    "; joins one by one are native, "
                            + OptimizerConfigOptions.TABLE_OPTIMIZER_MULTI_JOIN_ENABLED.key()
                            + " has put them together");

    private final List<Translator> translators;
    private final ReadableConfig config;
    private final Supplier<SerdeContext> serdeContext;
    private final boolean enabled;
    private final BatchOptions batchOptions;

    private final Set<ExecNode<?>> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final List<PlanReport.Node> nodes = new ArrayList<>();

    /**
     * @param translators what can run natively
     * @param config the job's configuration
     * @param serdeContext what Flink's plan writer needs, made only if a node is to be read
     */
    Acceleration(
            List<Translator> translators,
            ReadableConfig config,
            Supplier<SerdeContext> serdeContext) {
        this.translators = translators;
        this.config = config;
        this.serdeContext = serdeContext;
        this.enabled = DreyOptions.read(config, DreyOptions.ENABLED);
        this.batchOptions = DreyOptions.batchOptions(config);
    }

    /** Puts native operators where they can be; the graph has been translated before. */
    PlanReport apply(ExecNodeGraph graph) {
        graph.getRootNodes().forEach(this::visit);
        if (!enabled) {
            return PlanReport.EMPTY;
        }
        List<String> remarks = new ArrayList<>();
        List<String> operators = translators.stream().map(Translator::operator).toList();
        DreyOptions.unknown(config, operators)
                .forEach(
                        (key, nearest) ->
                                remarks.add(
                                        "unknown option '"
                                                + key
                                                + "', did you mean '"
                                                + nearest
                                                + "'?"));
        return new PlanReport(nodes, remarks);
    }

    private void visit(ExecNode<?> node) {
        if (!seen.add(node)) {
            return;
        }
        if (Transformations.isStateful(node) || translator(node).isPresent()) {
            nodes.add(accelerate(node));
        }
        for (ExecEdge edge : node.getInputEdges()) {
            visit(edge.getSource());
        }
    }

    private Optional<Translator> translator(ExecNode<?> node) {
        return translators.stream()
                .filter(candidate -> candidate.nodes().contains(node.getClass()))
                .findFirst();
    }

    private PlanReport.Node accelerate(ExecNode<?> node) {
        String description = node.getDescription();
        Optional<Translator> translator = translator(node);
        if (translator.isEmpty()) {
            String name = node.getClass().getSimpleName();
            return PlanReport.Node.onFlink(
                    description,
                    "no native operator for " + name + HINTS.getOrDefault(node.getClass(), ""));
        }
        try {
            Optional<String> reason = accelerate((ExecNodeBase<?>) node, translator.get());
            return reason.map(text -> PlanReport.Node.onFlink(description, text))
                    .orElseGet(() -> PlanReport.Node.onDrey(description));
        } catch (NodeJson.Unreadable e) {
            return PlanReport.Node.onFlink(description, e.getMessage());
        } catch (Exception | LinkageError e) {
            LOG.warn("{} stays on Flink: its translation failed", description, e);
            return PlanReport.Node.onFlink(description, "translation failed: " + e);
        }
    }

    /** Returns why the node stays on Flink, or nothing if it is native now. */
    private Optional<String> accelerate(ExecNodeBase<?> node, Translator translator) {
        Transformation<?> made = Transformations.of(node);
        Optional<StreamOperatorFactory<?>> factory = Transformations.operatorFactory(made);
        if (factory.isEmpty()) {
            return Optional.of("made of " + made.getClass().getSimpleName());
        }
        // A plan may be translated again (explained, then executed) under other options, and Flink
        // keeps what it made.
        StreamOperatorFactory<RowData> stock = stockFactory(factory.get());
        Optional<String> reason = decide(node, translator, made, stock);
        if (reason.isPresent() && factory.get() != stock) {
            Transformations.setOperatorFactory(made, stock);
            Transformations.useManagedMemory(made, false);
        }
        return reason;
    }

    private Optional<String> decide(
            ExecNodeBase<?> node,
            Translator translator,
            Transformation<?> transformation,
            StreamOperatorFactory<RowData> stock) {
        if (!enabled) {
            return Optional.of("turned off by " + DreyOptions.ENABLED.key());
        }
        ConfigOption<Boolean> operatorEnabled = DreyOptions.operatorEnabled(translator.operator());
        if (!DreyOptions.read(config, operatorEnabled)) {
            return Optional.of("turned off by " + operatorEnabled.key());
        }
        List<RowType> inputs = new ArrayList<>();
        for (ExecEdge edge : node.getInputEdges()) {
            if (!(edge.getOutputType() instanceof RowType row)) {
                return Optional.of("input has type " + edge.getOutputType());
            }
            inputs.add(row);
        }
        if (!(node.getOutputType() instanceof RowType output)) {
            return Optional.of("output has type " + node.getOutputType());
        }
        NodeView view =
                new NodeView(
                        NodeWriter.write(node, serdeContext.get()),
                        new NodeConfig(node.getPersistedConfig(), config),
                        inputs,
                        output);
        Translation translation = translator.translate(view);
        if (translation instanceof Translation.Fallback fallback) {
            return Optional.of(fallback.reason());
        }
        Translation.Native translated = (Translation.Native) translation;
        Optional<String> mismatch =
                Transformations.mismatch(stock, translated.stock())
                        .or(() -> inputMismatch(Transformations.inputTypes(transformation), inputs))
                        .or(() -> typeMismatch("output", transformation.getOutputType(), output));
        if (mismatch.isPresent()) {
            LOG.warn("{} stays on Flink: unexpected {}", node.getDescription(), mismatch.get());
            return Optional.of("unexpected " + mismatch.get());
        }
        NativeOperatorFactory factory =
                new NativeOperatorFactory(
                        stock, translated.spec().toJson(), inputs, output, batchOptions);
        Transformations.useManagedMemory(transformation, true);
        Transformations.setOperatorFactory(transformation, factory);
        return Optional.empty();
    }

    @SuppressWarnings("unchecked")
    private static StreamOperatorFactory<RowData> stockFactory(StreamOperatorFactory<?> factory) {
        return factory instanceof NativeOperatorFactory ours
                ? ours.stock()
                : (StreamOperatorFactory<RowData>) factory;
    }

    private static Optional<String> inputMismatch(
            List<TypeInformation<?>> actual, List<RowType> expected) {
        if (actual.size() != expected.size()) {
            return Optional.of("number of inputs " + actual.size());
        }
        for (int i = 0; i < actual.size(); i++) {
            Optional<String> mismatch = typeMismatch("input", actual.get(i), expected.get(i));
            if (mismatch.isPresent()) {
                return mismatch;
            }
        }
        return Optional.empty();
    }

    /** Names and nullability may differ between the plan and what was made of it (after a union); the form may not. */
    private static Optional<String> typeMismatch(
            String what, TypeInformation<?> actual, RowType expected) {
        return actual instanceof InternalTypeInfo<?> info
                        && info.toLogicalType() instanceof RowType row
                        && RowTypes.sameForm(row, expected)
                ? Optional.empty()
                : Optional.of(what + " type " + actual + ", planned was " + expected);
    }

    /** The options of a node: those kept with it in a compiled plan win over the job's. */
    private record NodeConfig(ReadableConfig node, ReadableConfig job) implements ReadableConfig {
        @Override
        public <T> T get(ConfigOption<T> option) {
            return node.getOptional(option).orElseGet(() -> job.get(option));
        }

        @Override
        public <T> Optional<T> getOptional(ConfigOption<T> option) {
            return node.getOptional(option).or(() -> job.getOptional(option));
        }

        @Override
        public Map<String, String> toMap() {
            Map<String, String> all = new HashMap<>(job.toMap());
            all.putAll(node.toMap());
            return all;
        }
    }
}
