package drey.nexmark.source;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/** The event row's type, and rows taken apart into objects: the slow way around our own row writer. */
public final class NexmarkTypes {

    private NexmarkTypes() {}

    public static RowType event() {
        return (RowType) NexmarkTableFactory.EVENT.getLogicalType();
    }

    public static RowData copyByField(RowData row) {
        return copy(row, event());
    }

    private static GenericRowData copy(RowData row, RowType type) {
        GenericRowData copy = new GenericRowData(row.getRowKind(), type.getFieldCount());
        for (int i = 0; i < type.getFieldCount(); i++) {
            LogicalType field = type.getTypeAt(i);
            Object value = RowData.createFieldGetter(field, i).getFieldOrNull(row);
            if (value instanceof RowData nested) {
                value = copy(nested, (RowType) field);
            }
            copy.setField(i, value);
        }
        return copy;
    }
}
