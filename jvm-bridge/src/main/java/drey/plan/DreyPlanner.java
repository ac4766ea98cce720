package drey.plan;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.table.api.ExplainDetail;
import org.apache.flink.table.api.ExplainFormat;
import org.apache.flink.table.api.TableConfig;
import org.apache.flink.table.api.ValidationException;
import org.apache.flink.table.catalog.CatalogManager;
import org.apache.flink.table.catalog.FunctionCatalog;
import org.apache.flink.table.delegation.Executor;
import org.apache.flink.table.delegation.InternalPlan;
import org.apache.flink.table.module.ModuleManager;
import org.apache.flink.table.operations.Operation;
import org.apache.flink.table.planner.delegation.StreamPlanner;
import org.apache.flink.table.planner.plan.nodes.exec.ExecNodeGraph;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.List;
import java.util.function.Supplier;

/** Flink's streaming planner, which looks once more at what it translated. */
public class DreyPlanner extends StreamPlanner {

    private static final Logger LOG = LoggerFactory.getLogger(DreyPlanner.class);

    /** What became of the plan that was translated last; read by EXPLAIN, which translates too. */
    private PlanReport report = PlanReport.EMPTY;

    private boolean explaining;

    public DreyPlanner(
            Executor executor,
            TableConfig tableConfig,
            ModuleManager moduleManager,
            FunctionCatalog functionCatalog,
            CatalogManager catalogManager,
            ClassLoader classLoader) {
        super(executor, tableConfig, moduleManager, functionCatalog, catalogManager, classLoader);
    }

    @Override
    public List<Transformation<?>> translateToPlan(ExecNodeGraph graph) {
        List<Transformation<?>> transformations = super.translateToPlan(graph);
        report = accelerate(graph);
        if (!explaining) {
            log(report);
        }
        return transformations;
    }

    private static void log(PlanReport report) {
        if (!report.isEmpty()) {
            LOG.info(
                    "Drey runs {} of {} stateful nodes natively\n{}",
                    report.nativeNodes(),
                    report.nodes().size(),
                    report.lines("\n").stripTrailing());
        }
        report.remarks().forEach(remark -> LOG.warn("Drey: {}", remark));
    }

    private PlanReport accelerate(ExecNodeGraph graph) {
        try {
            return new Acceleration(
                            Acceleration.TRANSLATORS, getTableConfig(), this::createSerdeContext)
                    .apply(graph);
        } catch (ValidationException e) {
            // An option with an impossible value: the user's to correct, as with Flink's own
            // options.
            throw e;
        } catch (Exception | LinkageError e) {
            LOG.warn("The plan stays on Flink: looking at it failed", e);
            return PlanReport.EMPTY;
        }
    }

    @Override
    public String explain(
            List<Operation> operations, ExplainFormat format, ExplainDetail... extraDetails) {
        return explained(() -> super.explain(operations, format, extraDetails));
    }

    @Override
    public String explainPlan(InternalPlan plan, ExplainDetail... extraDetails) {
        return explained(() -> super.explainPlan(plan, extraDetails));
    }

    private String explained(Supplier<String> explain) {
        report = PlanReport.EMPTY;
        explaining = true;
        try {
            String text = explain.get();
            return DreyOptions.read(getTableConfig(), DreyOptions.EXPLAIN)
                    ? report.addTo(text)
                    : text;
        } finally {
            explaining = false;
        }
    }
}
