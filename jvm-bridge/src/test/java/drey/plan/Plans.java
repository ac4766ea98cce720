package drey.plan;

import drey.runtime.NativeOperatorFactory;

import org.apache.flink.api.dag.Transformation;
import org.apache.flink.streaming.api.transformations.OneInputTransformation;
import org.apache.flink.table.api.EnvironmentSettings;
import org.apache.flink.table.api.PlanReference;
import org.apache.flink.table.api.TableEnvironment;
import org.apache.flink.table.api.internal.TableEnvironmentImpl;
import org.apache.flink.table.delegation.InternalPlan;
import org.apache.flink.table.delegation.Planner;
import org.apache.flink.table.operations.ModifyOperation;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/** Plans SQL with the planner a user gets, and looks at what became of it. */
public final class Plans {

    private Plans() {}

    /** An environment with the tables {@code bid} (rowtime and proctime) and two sinks. */
    public static TableEnvironment environment(String... settings) {
        TableEnvironment env = TableEnvironment.create(EnvironmentSettings.inStreamingMode());
        for (int i = 0; i < settings.length; i += 2) {
            env.getConfig().set(settings[i], settings[i + 1]);
        }
        env.executeSql(
                "CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel STRING,"
                        + " url STRING, ts TIMESTAMP(3), extra STRING, pt AS PROCTIME(),"
                        + " WATERMARK FOR ts AS ts)"
                        + " WITH ('connector' = 'datagen', 'number-of-rows' = '500',"
                        + " 'fields.auction.min' = '1', 'fields.auction.max' = '9',"
                        + " 'fields.bidder.min' = '1', 'fields.bidder.max' = '9')");
        env.executeSql(
                "CREATE TABLE upserts (auction BIGINT, bidder BIGINT, price BIGINT,"
                        + " PRIMARY KEY (auction, bidder) NOT ENFORCED)"
                        + " WITH ('connector' = 'blackhole')");
        env.executeSql(
                "CREATE TABLE retracts (auction BIGINT, bidder BIGINT, price BIGINT)"
                        + " WITH ('connector' = 'blackhole')");
        return env;
    }

    /** {@code keep} of {@code bid} by the given order. */
    public static String deduplicate(String partitionBy, String orderBy) {
        return "SELECT auction, bidder, price FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY "
                + partitionBy
                + " ORDER BY "
                + orderBy
                + ") AS rn FROM bid) WHERE rn = 1";
    }

    public static Planner planner(TableEnvironment env) {
        return ((TableEnvironmentImpl) env).getPlanner();
    }

    /** Translates INSERT statements into one program. */
    public static List<Transformation<?>> translate(TableEnvironment env, String... inserts) {
        List<ModifyOperation> operations = new ArrayList<>();
        for (String insert : inserts) {
            planner(env)
                    .getParser()
                    .parse(insert)
                    .forEach(o -> operations.add((ModifyOperation) o));
        }
        return planner(env).translate(operations);
    }

    /** Translates a compiled plan, the same object anew at each call. */
    public static List<Transformation<?>> translate(TableEnvironment env, InternalPlan plan) {
        return planner(env).translatePlan(plan);
    }

    /** The plan as the planner knows it. */
    public static InternalPlan load(TableEnvironment env, String json) {
        try {
            return planner(env).loadPlan(PlanReference.fromJsonString(json));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Every transformation of a program, each once, inputs first. */
    public static List<Transformation<?>> all(List<Transformation<?>> roots) {
        List<Transformation<?>> all = new ArrayList<>();
        for (Transformation<?> root : roots) {
            collect(root, all);
        }
        return all;
    }

    private static void collect(Transformation<?> next, List<Transformation<?>> all) {
        if (!all.contains(next)) {
            next.getInputs().forEach(input -> collect(input, all));
            all.add(next);
        }
    }

    public static List<OneInputTransformation<?, ?>> nativeOnes(List<Transformation<?>> roots) {
        List<OneInputTransformation<?, ?>> found = new ArrayList<>();
        for (Transformation<?> transformation : all(roots)) {
            if (transformation instanceof OneInputTransformation<?, ?> one
                    && one.getOperatorFactory() instanceof NativeOperatorFactory) {
                found.add(one);
            }
        }
        return found;
    }

    /** Those of one kind of operator: what stands before or behind it in the query may be native as well. */
    public static List<OneInputTransformation<?, ?>> nativeOnes(
            List<Transformation<?>> roots, String operator) {
        String kind = "\"operator\":\"" + operator + "\"";
        return nativeOnes(roots).stream()
                .filter(one -> factory(one).spec().contains(kind))
                .toList();
    }

    public static NativeOperatorFactory factory(OneInputTransformation<?, ?> transformation) {
        return (NativeOperatorFactory) transformation.getOperatorFactory();
    }

    /** What a field of an object holds, whichever of its classes has it; nothing if none has. */
    public static Optional<Object> field(Object target, String name) {
        try {
            for (Class<?> type = target.getClass(); type != null; type = type.getSuperclass()) {
                for (Field field : type.getDeclaredFields()) {
                    if (field.getName().equals(name)) {
                        field.setAccessible(true);
                        return Optional.of(field.get(target));
                    }
                }
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        return Optional.empty();
    }

    /** The lines of the section {@code == Drey ==}, or none. */
    public static List<String> section(String explained) {
        List<String> lines = explained.lines().toList();
        int title = lines.indexOf("== Drey ==");
        if (title < 0) {
            return List.of();
        }
        return lines.subList(title + 1, lines.size()).stream()
                .takeWhile(line -> !line.isEmpty())
                .toList();
    }
}
