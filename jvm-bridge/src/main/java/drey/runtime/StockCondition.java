package drey.runtime;

import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperatorFactory;
import org.apache.flink.table.runtime.generated.GeneratedJoinCondition;
import org.apache.flink.table.runtime.operators.join.stream.AbstractStreamingJoinOperator;

import java.lang.reflect.Field;

/** The condition that Flink has generated for its own join: code, of which the native one asks what it can't say itself. */
final class StockCondition {

    private StockCondition() {}

    /** Takes it out of the join operator's factory; Flink has no method for it. */
    static GeneratedJoinCondition of(StreamOperatorFactory<?> stock) {
        if (!(stock instanceof SimpleOperatorFactory<?> simple)
                || !(simple.getOperator() instanceof AbstractStreamingJoinOperator join)) {
            throw new IllegalStateException("no join, and so no join condition, in " + stock);
        }
        try {
            Field field =
                    AbstractStreamingJoinOperator.class.getDeclaredField("generatedJoinCondition");
            field.setAccessible(true);
            return (GeneratedJoinCondition) field.get(join);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException("Flink's join keeps its condition elsewhere", e);
        }
    }
}
