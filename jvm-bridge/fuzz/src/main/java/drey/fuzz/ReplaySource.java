package drey.fuzz;

import org.apache.flink.api.common.state.ListState;
import org.apache.flink.api.common.state.ListStateDescriptor;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.functions.source.legacy.RichSourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;

import java.util.List;

/** Emits a table's changes, phase by phase, in one subtask. */
final class ReplaySource extends RichSourceFunction<RowData> implements CheckpointedFunction {

    private static final long serialVersionUID = 1L;

    private final String id;
    private final String table;
    private final int source;

    private transient ListState<Integer> state;
    private transient int row;
    private transient int phase;
    private transient volatile boolean canceled;

    ReplaySource(String id, String table) {
        this.id = id;
        this.table = table;
        this.source = Run.of(id).newSource();
    }

    @Override
    public void initializeState(FunctionInitializationContext context) throws Exception {
        state =
                context.getOperatorStateStore()
                        .getListState(new ListStateDescriptor<>("position", Types.INT));
        int n = 0;
        for (int value : state.get()) {
            if (n++ == 0) {
                row = value;
            } else {
                phase = value;
            }
        }
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) throws Exception {
        state.update(List.of(row, phase));
    }

    @Override
    public void run(SourceContext<RowData> context) throws Exception {
        Run run = Run.of(id);
        int attempt = getRuntimeContext().getTaskInfo().getAttemptNumber();
        List<GenericRowData> rows = run.rows(table);
        while (phase < run.phases() && !canceled) {
            if (!run.begins(phase)) {
                continue;
            }
            int end = row + run.rowsIn(phase, table);
            while (row < end && !canceled) {
                if (run.failsBefore(table, row)) {
                    throw new IllegalStateException("the failure this case asks for");
                }
                synchronized (context.getCheckpointLock()) {
                    context.collect(copy(rows.get(row)));
                    row++;
                }
            }
            synchronized (context.getCheckpointLock()) {
                phase++;
            }
            run.arrive(source, attempt, phase);
        }
    }

    /** Rows are emitted to several jobs and queries; whoever gets one may write to it. */
    private static RowData copy(GenericRowData row) {
        GenericRowData copy = new GenericRowData(row.getRowKind(), row.getArity());
        for (int i = 0; i < row.getArity(); i++) {
            copy.setField(i, row.getField(i));
        }
        return copy;
    }

    @Override
    public void cancel() {
        canceled = true;
    }
}
