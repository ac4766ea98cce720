package org.apache.flink.table.planner.loader;

import drey.plan.FlinkLine;

import org.apache.flink.api.common.RuntimeExecutionMode;
import org.apache.flink.configuration.ConfigOption;
import org.apache.flink.configuration.ExecutionOptions;
import org.apache.flink.table.api.SqlDialect;
import org.apache.flink.table.api.TableConfig;
import org.apache.flink.table.catalog.CatalogManager;
import org.apache.flink.table.catalog.FunctionCatalog;
import org.apache.flink.table.delegation.Executor;
import org.apache.flink.table.delegation.ParserFactory;
import org.apache.flink.table.delegation.Planner;
import org.apache.flink.table.delegation.PlannerFactory;
import org.apache.flink.table.factories.FactoryUtil;
import org.apache.flink.table.module.ModuleManager;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

import java.net.URL;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;

/**
 * Way in where the planner comes inside {@code flink-table-planner-loader}, as in a distribution. This class is loaded in
 * place of Flink's class of the same name. Flink's planner lives in a class loader of its own that doesn't see {@code lib/};
 * our jar is added to it, and {@code drey.plan.DreyPlanner} is made in there. What that planner puts into a job is found
 * again by name in {@code lib/} where the job runs.
 */
public final class DelegatePlannerFactory implements PlannerFactory {

    private static final Logger LOG = LoggerFactory.getLogger(DelegatePlannerFactory.class);

    private final PlannerFactory stock = PlannerModule.getInstance().loadPlannerFactory();
    private final Set<SqlDialect> seenDialects = EnumSet.of(SqlDialect.DEFAULT);

    @Override
    public String factoryIdentifier() {
        return stock.factoryIdentifier();
    }

    @Override
    public Set<ConfigOption<?>> requiredOptions() {
        return stock.requiredOptions();
    }

    @Override
    public Set<ConfigOption<?>> optionalOptions() {
        return stock.optionalOptions();
    }

    @Override
    public Planner create(Context context) {
        addDialect(context.getTableConfig().getSqlDialect());
        if (context.getTableConfig().get(ExecutionOptions.RUNTIME_MODE)
                == RuntimeExecutionMode.STREAMING) {
            try {
                if (FlinkLine.canPlan()) {
                    return DreyPlannerClass.create(context);
                }
            } catch (ReflectiveOperationException | RuntimeException | LinkageError e) {
                LOG.warn("Drey can't plan here; everything runs on Flink's own operators", e);
            }
        }
        return stock.create(context);
    }

    /** As Flink's class does: the parser of another dialect must be visible to the planner. */
    private void addDialect(SqlDialect dialect) {
        if (seenDialects.add(dialect)) {
            ParserFactory parser =
                    FactoryUtil.discoverFactory(
                            PlannerFactory.class.getClassLoader(),
                            ParserFactory.class,
                            dialect.name().toLowerCase(Locale.ROOT));
            PlannerModule.getInstance().addUrlToClassLoader(location(parser.getClass()));
        }
    }

    private static URL location(Class<?> type) {
        return type.getProtectionDomain().getCodeSource().getLocation();
    }

    /** Our planner in the planner's class loader. Our jar is added to it once. */
    private static final class DreyPlannerClass {

        private static final Class<?> CLASS = load();

        private static Class<?> load() {
            PlannerModule.getInstance().addUrlToClassLoader(location(DelegatePlannerFactory.class));
            try {
                return Class.forName(
                        "drey.plan.DreyPlanner",
                        true,
                        PlannerModule.getInstance().getSubmoduleClassLoader());
            } catch (ClassNotFoundException e) {
                throw new IllegalStateException(e);
            }
        }

        static Planner create(Context context) throws ReflectiveOperationException {
            return (Planner)
                    CLASS.getConstructor(
                                    Executor.class,
                                    TableConfig.class,
                                    ModuleManager.class,
                                    FunctionCatalog.class,
                                    CatalogManager.class,
                                    ClassLoader.class)
                            .newInstance(
                                    context.getExecutor(),
                                    context.getTableConfig(),
                                    context.getModuleManager(),
                                    context.getFunctionCatalog(),
                                    context.getCatalogManager(),
                                    context.getClassLoader());
        }
    }
}
