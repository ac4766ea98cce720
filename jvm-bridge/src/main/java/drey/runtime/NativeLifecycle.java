package drey.runtime;

import drey.batch.BatchReader;
import drey.batch.RowBatchWriter;
import drey.batch.RowSchema;
import drey.jni.NativeException;
import drey.jni.NativeOperator;
import drey.jni.PairCondition;

import org.apache.flink.core.memory.ManagedMemoryUseCase;
import org.apache.flink.core.memory.MemorySegment;
import org.apache.flink.core.memory.MemorySegmentFactory;
import org.apache.flink.metrics.Gauge;
import org.apache.flink.metrics.MetricGroup;
import org.apache.flink.runtime.execution.Environment;
import org.apache.flink.runtime.memory.MemoryManager;
import org.apache.flink.runtime.memory.MemoryReservationException;
import org.apache.flink.runtime.state.KeyGroupRange;
import org.apache.flink.runtime.state.KeyGroupRangeAssignment;
import org.apache.flink.runtime.state.KeyGroupStatePartitionStreamProvider;
import org.apache.flink.runtime.state.KeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateCheckpointOutputStream;
import org.apache.flink.runtime.state.StateInitializationContext;
import org.apache.flink.runtime.state.StateSnapshotContext;
import org.apache.flink.runtime.state.VoidNamespace;
import org.apache.flink.runtime.state.ttl.TtlTimeProvider;
import org.apache.flink.streaming.api.graph.StreamConfig;
import org.apache.flink.streaming.api.operators.Output;
import org.apache.flink.streaming.runtime.streamrecord.StreamRecord;
import org.apache.flink.streaming.runtime.tasks.ProcessingTimeService;
import org.apache.flink.streaming.runtime.tasks.StreamTask;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;
import org.apache.flink.table.types.logical.RowType;

import java.io.IOException;
import java.lang.reflect.Field;
import java.util.List;
import java.util.function.LongSupplier;
import java.util.stream.Stream;

/**
 * The life of one native operator in one subtask: opens it within the slot's managed memory, collects rows into batches,
 * hands them over, emits what comes back, and moves state between the library and Flink's keyed state streams.
 *
 * <p>All methods are called on the task's mailbox thread. Order is kept: what a row causes is emitted before anything that
 * arrived after the row, because every callback that lets something pass (watermark, barrier, status) cuts the batch first.
 */
final class NativeLifecycle implements AutoCloseable {

    /** Bytes that cross at once in a snapshot: enough to make the call's cost vanish, little enough to be no burden. */
    private static final int SNAPSHOT_CHUNK = 256 << 10;

    /** Every so many rows the time of arrival is taken. A clock reading costs about as much as the rest of a row's way. */
    private static final int ARRIVAL_STRIDE = 16;

    private static final long METRICS_MILLIS = 1000;

    // Hot: read or written for every row.
    private final RowDataSerializer[] inputSerializers;
    private final boolean retention;
    private final boolean forwardsTimestamps;
    private final int rowLimit;
    private final int byteLimit;
    private RowBatchWriter batch;
    private final boolean mixed;
    private long batchClock;
    private final long[] timestamps;
    private final boolean[] stamped;
    private final long[] arrivals;
    private LongSupplier clock;

    private final String spec;
    private final OperatorTraits traits;
    private final List<RowType> inputs;
    private final RowType outputType;
    private final StreamTask<?, ?> task;
    private final StreamConfig config;
    private final ProcessingTimeService time;
    private final Output<StreamRecord<RowData>> output;
    private final MetricGroup metricGroup;

    private final StreamRecord<RowData> emitted = new StreamRecord<>(null);
    private final Keeping keeping;
    private BatchReader results;

    private long handle;
    // An operator in front of the exchange is not keyed: rows of any key reach it, and it may not
    // keep anything longer than to the next barrier.
    private boolean keyed;
    private KeyGroupRange keyGroups;
    private MemoryManager memoryManager;
    private long reserved;

    private NativeMetrics metrics;
    private final NativeExecutions executions;
    private final LatencyHistogram latency = new LatencyHistogram();
    private volatile long latencyP99Micros;
    private volatile long rowsIn;
    private volatile long batches;

    private long countedRows;
    private long countedBatches;

    private final long lingerMillis;
    private long batchDeadline;
    private boolean timerRegistered;
    private boolean metricsTimerRegistered;

    private MemorySegment snapshotChunk;

    NativeLifecycle(
            String spec,
            List<RowType> inputs,
            RowType outputType,
            BatchOptions options,
            StreamTask<?, ?> task,
            StreamConfig config,
            ProcessingTimeService time,
            Output<StreamRecord<RowData>> output,
            MetricGroup metricGroup) {
        this.spec = spec;
        this.traits = OperatorTraits.of(spec, inputs);
        this.inputs = inputs;
        this.outputType = outputType;
        this.task = task;
        this.config = config;
        this.time = time;
        this.output = output;
        this.metricGroup = metricGroup;

        retention = traits.retention();
        forwardsTimestamps = traits.forwardsTimestamps();
        // Flink reads both inputs in turn, row by row: batches of one input would hold one row.
        mixed = inputs.size() > 1;
        rowLimit = options.latencyMillis() == 0 ? 1 : options.rows();
        byteLimit = options.bytes();
        lingerMillis = options.latencyMillis();
        inputSerializers =
                inputs.stream().map(RowDataSerializer::new).toArray(RowDataSerializer[]::new);
        timestamps = new long[forwardsTimestamps ? rowLimit : 0];
        stamped = new boolean[timestamps.length];
        arrivals = new long[(rowLimit + ARRIVAL_STRIDE - 1) / ARRIVAL_STRIDE];
        clock = time::getCurrentProcessingTime;
        executions = NativeExecutions.of(traits.operator());
        keeping = Keeping.of(task, config);
    }

    // --- opening and closing -----------------------------------------------------------------

    /**
     * @param condition what the operator may ask of Flink, null if nothing
     */
    void open(
            StateInitializationContext context,
            KeyedStateBackend<?> stateBackend,
            PairCondition condition)
            throws Exception {
        keyed = stateBackend != null;
        boolean restored = keyed && context.isRestored();
        if (restored) {
            refuseStockState(stateBackend);
        }
        if (retention) {
            clock = retentionClock(stateBackend, clock);
        }
        long budget = reserveMemory();
        Environment environment = task.getEnvironment();
        int maxParallelism = environment.getTaskInfo().getMaxNumberOfParallelSubtasks();
        keyGroups =
                keyed
                        ? KeyGroupRangeAssignment.computeKeyGroupRangeForOperatorIndex(
                                maxParallelism,
                                environment.getTaskInfo().getNumberOfParallelSubtasks(),
                                environment.getTaskInfo().getIndexOfThisSubtask())
                        : KeyGroupRange.of(0, maxParallelism - 1);
        batch =
                mixed
                        ? RowBatchWriter.mixed(rowLimit, byteLimit)
                        : new RowBatchWriter(rowLimit, byteLimit);
        results = traits.outputReader(outputType);
        handle = openNative(maxParallelism, budget, condition);
        executions.countOpened();
        if (restored) {
            for (KeyGroupStatePartitionStreamProvider group : context.getRawKeyedStateInputs()) {
                restore(group);
            }
        }
        metrics = new NativeMetrics(metricGroup, () -> NativeOperator.stats(handle));
        MetricGroup ours = metricGroup.addGroup("drey");
        ours.gauge("batchLatencyP99Micros", (Gauge<Long>) () -> latencyP99Micros);
        ours.gauge("rowsIn", (Gauge<Long>) () -> rowsIn);
        ours.gauge("batches", (Gauge<Long>) () -> batches);
    }

    private long openNative(int maxParallelism, long budget, PairCondition condition) {
        RowSchema[] schemas = inputs.stream().map(RowSchema::input).toArray(RowSchema[]::new);
        long[] addresses = new long[schemas.length];
        try (RowSchema out = traits.outputSchema(outputType)) {
            for (int i = 0; i < schemas.length; i++) {
                addresses[i] = schemas[i].address();
            }
            return NativeOperator.open(
                    spec,
                    addresses,
                    out.address(),
                    maxParallelism,
                    keyGroups.getStartKeyGroup(),
                    keyGroups.getEndKeyGroup(),
                    budget,
                    condition);
        } finally {
            for (RowSchema schema : schemas) {
                schema.close();
            }
        }
    }

    /** Frees everything. May be called at any time, also after a failed open, and again. */
    @Override
    public void close() {
        try {
            if (handle != 0) {
                lastMetrics();
                long closing = handle;
                handle = 0;
                executions.addLatency(latency);
                NativeOperator.close(closing);
            }
        } finally {
            try {
                if (batch != null) {
                    batch.close();
                    batch = null;
                }
                if (results != null) {
                    results.close();
                    results = null;
                }
            } finally {
                if (reserved > 0) {
                    memoryManager.releaseMemory(this, reserved);
                    reserved = 0;
                }
            }
        }
    }

    // --- rows --------------------------------------------------------------------------------

    void process(int input, StreamRecord<RowData> record) throws Exception {
        if (retention) {
            // Flink asks the clock for every access to state that expires. One batch has one clock,
            // so it ends with the tick.
            long now = clock.getAsLong();
            if (now != batchClock) {
                cutBatch();
                batchClock = now;
            }
        }
        RowData row = record.getValue();
        int n = batch.rows();
        if (forwardsTimestamps) {
            stamped[n] = record.hasTimestamp();
            timestamps[n] = record.getTimestamp();
        }
        if ((n & (ARRIVAL_STRIDE - 1)) == 0) {
            arrivals[n / ARRIVAL_STRIDE] = System.nanoTime();
        }
        byte kind = row.getRowKind().toByteValue();
        BinaryRowData binary =
                row instanceof BinaryRowData already
                        ? already
                        : inputSerializers[input].toBinaryRow(row);
        if (mixed) {
            batch.add(input, kind, binary);
        } else {
            batch.add(kind, binary);
        }
        if (n == 0) {
            refreshLater();
            if (rowLimit > 1) {
                linger();
            }
        }
        if (n + 1 >= rowLimit || batch.bytes() >= byteLimit) {
            cutBatch();
        }
    }

    /** Hands the rows collected so far to the native side and emits what comes back. */
    void cutBatch() throws Exception {
        int n = handle == 0 ? 0 : batch.rows();
        if (n == 0) {
            return;
        }
        try {
            long pending =
                    NativeOperator.push(
                            handle,
                            mixed ? NativeOperator.MIXED : 0,
                            batch.export(),
                            retention ? batchClock : clock.getAsLong());
            long now = System.nanoTime();
            for (int i = 0; i < n; i += ARRIVAL_STRIDE) {
                latency.record(now - arrivals[i / ARRIVAL_STRIDE], Math.min(ARRIVAL_STRIDE, n - i));
            }
            emit(pending);
            executions.countBatch(n);
            countedBatches++;
            countedRows += n;
            changed(now);
        } catch (NativeException e) {
            throw explained(e);
        } finally {
            // Not before: an operator that emits a lot goes on with the batch while it is polled.
            batch.clear();
        }
    }

    /** Takes all output there is. Where none is pending at first, none will be. */
    private void emit(long pending) {
        if (pending == 0) {
            return;
        }
        long total = 0;
        int rows;
        while ((rows = (int) NativeOperator.poll(handle, results.address())) > 0) {
            if (keeping == Keeping.PARTS) {
                results.attachCopy(rows);
            } else {
                results.attach(rows);
            }
            total += rows;
            for (int i = 0; i < rows; i++) {
                RowData row =
                        switch (keeping) {
                            case NOTHING -> results.row(i);
                            case PARTS -> results.asFlinks(i);
                            case ROWS -> results.copy(i);
                        };
                if (forwardsTimestamps) {
                    stamp(results.source(i), row);
                }
                output.collect(emitted.replace(row));
            }
        }
        executions.countRowsOut(total);
    }

    /** Gives the record to be emitted the timestamp that Flink's KeyedProcessOperator would give it. */
    private void stamp(int source, RowData row) {
        if (source >= 0) {
            if (stamped[source]) {
                emitted.setTimestamp(timestamps[source]);
            } else {
                emitted.eraseTimestamp();
            }
        } else if (traits.timerField() >= 0) {
            emitted.setTimestamp(row.getLong(traits.timerField()));
        } else {
            emitted.eraseTimestamp();
        }
    }

    // --- time --------------------------------------------------------------------------------

    /** Event time advances, which ends a bundle; the caller forwards the watermark afterwards. */
    void watermark(long timestamp) throws Exception {
        endBundle();
        advanceEventTime(timestamp);
    }

    /** Event time advances. */
    void advanceEventTime(long timestamp) throws Exception {
        cutBatch();
        try {
            tick();
            emit(NativeOperator.advance(handle, NativeOperator.WATERMARK, timestamp));
        } catch (NativeException e) {
            throw explained(e);
        }
        changed(System.nanoTime());
    }

    /** One of several inputs says that its event time advances. Where there are bundles, it ends one. */
    void inputWatermark() throws Exception {
        if (traits.bundles()) {
            endBundle();
        }
    }

    /** Hands over everything, bundles included: nothing is in flight inside the operator afterwards. */
    void endBundle() throws Exception {
        cutBatch();
        if (traits.bundles() && handle != 0) {
            try {
                tick();
                emit(NativeOperator.flush(handle));
            } catch (NativeException e) {
                throw explained(e);
            }
            changed(System.nanoTime());
        }
    }

    /** Flushing and watermarks write to state, whose retention starts at the write. */
    private void tick() {
        if (retention) {
            emit(NativeOperator.advance(handle, NativeOperator.PROCESSING_TIME, clock.getAsLong()));
        }
    }

    /**
     * Sees to it that the batch begun just now doesn't wait longer than allowed. There is at most one timer, and it is not
     * moved when a batch fills before it fires: a busy operator pays for a timer every few milliseconds, not for every batch.
     */
    private void linger() {
        batchDeadline = time.getCurrentProcessingTime() + lingerMillis;
        if (!timerRegistered) {
            registerTimer();
        }
    }

    private void registerTimer() {
        timerRegistered = true;
        time.registerTimer(batchDeadline, this::onTimer);
    }

    private void onTimer(long timestamp) throws Exception {
        timerRegistered = false;
        if (handle == 0) {
            return;
        }
        if (batch.rows() > 0) {
            if (time.getCurrentProcessingTime() < batchDeadline) {
                registerTimer();
                return;
            }
            cutBatch();
        }
    }

    // --- state -------------------------------------------------------------------------------

    /** Writes every key group that holds state. The batch and the bundle were handed over before the barrier. */
    void snapshot(StateSnapshotContext context) throws Exception {
        if (keyed) {
            snapshotKeyGroups(context);
        }
        refreshMetrics();
    }

    private void snapshotKeyGroups(StateSnapshotContext context) throws Exception {
        KeyedStateCheckpointOutputStream out = context.getRawKeyedOperatorStateOutput();
        MemorySegment chunk = chunk();
        byte[] bytes = new byte[chunk.size()];
        for (int group : keyGroups) {
            int n = NativeOperator.snapshot(handle, group, chunk.getAddress(), chunk.size());
            if (n == 0) {
                continue;
            }
            out.startNewKeyGroup(group);
            KeyGroupState.Writer writer = new KeyGroupState.Writer(out);
            do {
                chunk.get(0, bytes, 0, n);
                writer.chunk(bytes, n);
                n = NativeOperator.snapshot(handle, group, chunk.getAddress(), chunk.size());
            } while (n > 0);
            writer.end();
        }
    }

    private void restore(KeyGroupStatePartitionStreamProvider provider) throws Exception {
        int group = provider.getKeyGroupId();
        MemorySegment chunk = chunk();
        byte[] bytes = new byte[chunk.size()];
        try {
            KeyGroupState.Reader reader = new KeyGroupState.Reader(provider.getStream());
            while ((bytes = reader.chunk(bytes)) != null) {
                for (int from = 0; from < reader.length(); from += chunk.size()) {
                    int n = Math.min(chunk.size(), reader.length() - from);
                    chunk.put(0, bytes, from, n);
                    NativeOperator.restore(handle, group, chunk.getAddress(), n);
                }
            }
            NativeOperator.restore(handle, group, chunk.getAddress(), 0);
        } catch (IOException | NativeException e) {
            if (e instanceof NativeException n && n.status() == NativeException.BUDGET) {
                throw explained(n);
            }
            throw new IOException(
                    "cannot restore key group "
                            + group
                            + " of native operator "
                            + traits.operator()
                            + ": "
                            + e.getMessage(),
                    e);
        }
    }

    /**
     * Flink's own operator keeps its state under its own names, which nobody would read here: the job would go on from
     * nothing without a word.
     */
    private void refuseStockState(KeyedStateBackend<?> backend) throws Exception {
        for (String state : traits.stockStates()) {
            try (Stream<?> keys = backend.getKeys(state, VoidNamespace.INSTANCE)) {
                if (keys.findAny().isPresent()) {
                    throw new IOException(
                            "native operator "
                                    + traits.operator()
                                    + " can't start from a snapshot of Flink's own: it"
                                    + " holds keyed state '"
                                    + state
                                    + "'. Start without Drey (drey.operator."
                                    + traits.operator()
                                    + ".enabled: false), or without the snapshot");
                }
            }
        }
    }

    private MemorySegment chunk() {
        if (snapshotChunk == null) {
            snapshotChunk =
                    MemorySegmentFactory.allocateUnpooledOffHeapMemory(SNAPSHOT_CHUNK, this);
        }
        return snapshotChunk;
    }

    // --- memory ------------------------------------------------------------------------------

    /** This operator's share of the slot's managed memory in bytes; 0 if it has none. */
    static long managedMemory(Environment environment, StreamConfig config) {
        double fraction =
                config.getManagedMemoryFractionOperatorUseCaseOfSlot(
                        ManagedMemoryUseCase.OPERATOR,
                        environment.getJobConfiguration(),
                        environment.getTaskManagerInfo().getConfiguration(),
                        environment.getUserCodeClassLoader().asClassLoader());
        return fraction <= 0 ? 0 : environment.getMemoryManager().computeMemorySize(fraction);
    }

    private long reserveMemory() {
        long budget = managedMemory(task.getEnvironment(), config);
        if (budget <= 0) {
            throw new NativeMemoryException(
                    traits.operator(), "its share of the slot is 0 bytes", null);
        }
        memoryManager = task.getEnvironment().getMemoryManager();
        try {
            memoryManager.reserveMemory(this, budget);
        } catch (MemoryReservationException e) {
            throw new NativeMemoryException(
                    traits.operator(), "its share of " + budget + " bytes can't be reserved", e);
        }
        reserved = budget;
        return budget;
    }

    private RuntimeException explained(NativeException e) {
        return e.status() == NativeException.BUDGET
                ? new NativeMemoryException(traits.operator(), e.getMessage(), e)
                : e;
    }

    // --- metrics -----------------------------------------------------------------------------

    private void changed(long nowNanos) {
        if (metrics.changed(nowNanos)) {
            refreshMetrics();
        }
    }

    /** Sees to it that other threads learn of the last rows, too, if no more come for a while. */
    private void refreshLater() {
        if (!metricsTimerRegistered) {
            metricsTimerRegistered = true;
            time.registerTimer(
                    time.getCurrentProcessingTime() + METRICS_MILLIS,
                    timestamp -> {
                        metricsTimerRegistered = false;
                        if (handle != 0 && metrics.stale()) {
                            refreshMetrics();
                        }
                    });
        }
    }

    /** Whoever reads metrics after the end sees the last numbers. */
    private void lastMetrics() {
        if (metrics == null) {
            return;
        }
        try {
            refreshMetrics();
        } catch (NativeException e) {
            // A handle that has failed tells nothing any more; its failure was reported when it
            // happened.
            metrics.giveUp();
        }
    }

    private void refreshMetrics() {
        metrics.refresh();
        latencyP99Micros = latency.quantile(0.99) / 1000;
        rowsIn = countedRows;
        batches = countedBatches;
    }

    // --- clock --------------------------------------------------------------------------------

    /**
     * The clock by which Flink's own state would expire: that of the state backend, which in a cluster is the system's, as
     * is that of processing time. Only Flink's test harness sets them apart, and nothing but the field leads to it.
     */
    private static LongSupplier retentionClock(
            KeyedStateBackend<?> backend, LongSupplier otherwise) {
        for (Class<?> c = backend.getClass(); c != null; c = c.getSuperclass()) {
            try {
                Field field = c.getDeclaredField("ttlTimeProvider");
                field.setAccessible(true);
                return field.get(backend) instanceof TtlTimeProvider provider
                        ? provider::currentTimestamp
                        : otherwise;
            } catch (NoSuchFieldException e) {
                // Perhaps the super class has it.
            } catch (IllegalAccessException | RuntimeException e) {
                return otherwise;
            }
        }
        return otherwise;
    }
}
