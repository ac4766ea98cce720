package org.apache.flink.table.planner.delegation;

import drey.plan.DreyPlanner;
import drey.plan.FlinkLine;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.table.api.TableException;
import org.apache.flink.table.delegation.Planner;
import org.apache.flink.table.delegation.PlannerFactory;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.util.Set;

/**
 * Way in where the planner is plainly on the class path. Flink finds its planner factory by a service entry that names
 * this class; being earlier on the class path, this one is loaded in place of Flink's class of the same name. It has no
 * service entry of its own, because two entries would be an error.
 */
public final class DefaultPlannerFactory implements PlannerFactory {

    private static final Logger LOG = LoggerFactory.getLogger(DefaultPlannerFactory.class);

    @Override
    public String factoryIdentifier() {
        return PlannerFactory.DEFAULT_IDENTIFIER;
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return Set.of();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return Set.of();
    }

    @Override
    public Planner create(Context context) {
        RuntimeExecutionMode mode = context.getTableConfig().get(ExecutionOptions.RUNTIME_MODE);
        switch (mode) {
            case STREAMING:
                return streaming(context);
            case BATCH:
                return new BatchPlanner(
                        context.getExecutor(),
                        context.getTableConfig(),
                        context.getModuleManager(),
                        context.getFunctionCatalog(),
                        context.getCatalogManager(),
                        context.getClassLoader());
            default:
                throw new TableException(
                        "The Table API needs '"
                                + ExecutionOptions.RUNTIME_MODE.key()
                                + "' to be STREAMING or BATCH, not "
                                + mode
                                + ".");
        }
    }

    private static Planner streaming(Context context) {
        try {
            if (FlinkLine.canPlan()) {
                return new DreyPlanner(
                        context.getExecutor(),
                        context.getTableConfig(),
                        context.getModuleManager(),
                        context.getFunctionCatalog(),
                        context.getCatalogManager(),
                        context.getClassLoader());
            }
        } catch (Exception | LinkageError e) {
            LOG.warn("Drey can't plan here; everything runs on Flink's own operators", e);
        }
        return new StreamPlanner(
                context.getExecutor(),
                context.getTableConfig(),
                context.getModuleManager(),
                context.getFunctionCatalog(),
                context.getCatalogManager(),
                context.getClassLoader());
    }
}
