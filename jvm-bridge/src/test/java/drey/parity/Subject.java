package drey.parity;

import drey.runtime.BatchOptions;
import drey.runtime.NativeOperatorFactory;

import org.apache.flink.runtime.state.StateBackend;
import org.apache.flink.streaming.api.operators.SimpleOperatorFactory;
import org.apache.flink.streaming.api.operators.StreamOperator;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.runtime.keyselector.RowDataKeySelector;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.random.RandomGenerator;

/**
 * An operator to be compared: Flink's own and the native one get the same rows, watermarks, clock ticks, checkpoints and restarts
 * (see {@link Scenario}), and what comes out is held against each other by {@link Parity}.
 *
 * <p>Mostly a query is all it takes. Flink's operator, the specification of the native one, types and keys are what the planner
 * makes of it, with Drey on:
 *
 * <pre>{@code
 * new PlannedSubject("join, left", "join")
 *     .table("l", "k INT, a BIGINT, kb STRING")   // columns named k... take many values, the others few
 *     .table("r", "k INT, b BIGINT")
 *     .query("SELECT * FROM l LEFT JOIN r ON l.k = r.k")
 *     .option("table.exec.state.ttl", "60 ms")    // optional
 *     .feed(Feed.changelog())                     // inserts, updates and deletes of rows that are there
 *     .identity(Identity.PER_RECORD);             // Flink's order among matches is its backend's
 * }</pre>
 *
 * <p>The list of those goes into {@link Subjects}, under the operator's name. They are then played by that operator's parity test
 * (see {@code RankParityTest} for a whole one) and by {@code make parity-full OP=join ROWS=10000000}.
 */
interface Subject {

    /** How much of a changelog Flink's operator determines. */
    enum Identity {
        /** Every row, in order. */
        SEQUENCE,
        /** The rows of each key of the output, in order, and between which watermarks and checkpoints they come. */
        SEQUENCE_PER_KEY,
        /** The rows that one row of the input causes, in any order. */
        PER_RECORD,
        /** The rows between two watermarks or checkpoints, in any order. */
        PER_SECTION,
        /** What the rows between two checkpoints add to the table and take away from it, all in all. */
        CHANGE
    }

    /** The native operator's name, as {@link drey.runtime.NativeExecutions} knows it. */
    String operator();

    List<RowType> inputs();

    /** The key of each input. */
    List<RowDataKeySelector> selectors();

    RowType output();

    /** A new operator of Flink's. */
    StreamOperator<RowData> stock();

    /** The specification of the native one. */
    String spec();

    Identity identity();

    /** A new stream of input. */
    Feed.Rows feed(RandomGenerator rng, int keySpace);

    /** How many different keys a run of so many rows has, if so many were drawn. */
    default int keySpace(int drawn, long rows) {
        return drawn;
    }

    /** State retention in milliseconds, 0 if none: clocks then jump to its ends. */
    default long ttl() {
        return 0;
    }

    /** A new backend for Flink's operator, null for the heap: RocksDB where the heap's operator sees its own objects change. */
    default StateBackend backend() {
        return null;
    }

    /** The key of an output row, for {@link Identity#SEQUENCE_PER_KEY}. */
    default RowDataKeySelector outputKey() {
        return selectors().get(0);
    }

    /** What must hold besides for what the native operator has emitted between two checkpoints. */
    default void check(Log ours, String what) {}

    default NativeOperatorFactory ours(BatchOptions options) {
        return new NativeOperatorFactory(
                SimpleOperatorFactory.of(stock()), spec(), inputs(), output(), options);
    }
}
