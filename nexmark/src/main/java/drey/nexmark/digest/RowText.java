package drey.nexmark.digest;

import org.apache.flink.table.data.RowData;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

/** Writes a row's fields out for a person to read. */
final class RowText {

    private final RowData.FieldGetter[] getters;

    RowText(RowType type) {
        getters = new RowData.FieldGetter[type.getFieldCount()];
        for (int i = 0; i < getters.length; i++) {
            LogicalType field = type.getTypeAt(i);
            getters[i] = RowData.createFieldGetter(field.copy(true), i);
        }
    }

    String of(RowData row) {
        StringBuilder text = new StringBuilder("(");
        for (int i = 0; i < getters.length; i++) {
            Object value = getters[i].getFieldOrNull(row);
            text.append(i == 0 ? "" : ", ").append(value == null ? "NULL" : value);
        }
        return text.append(')').toString();
    }
}
