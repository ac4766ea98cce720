package drey.plan;

import static org.apache.flink.table.types.logical.utils.LogicalTypeCasts.supportsAvoidingCast;

import org.apache.flink.table.api.TableException;
import org.apache.flink.table.types.logical.LogicalType;
import org.apache.flink.table.types.logical.RowType;

import java.util.List;
import java.util.Optional;

/** Which types native operators take. Everything not named here is a reason to stay on Flink. */
final class RowTypes {

    private RowTypes() {}

    /**
     * A column that no operator looks into is bytes of a {@code BinaryRowData}, so it may have any type that has such a
     * form, and a text form in which it is declared.
     */
    static Optional<String> unsupportedRow(RowType row) {
        for (int i = 0; i < row.getFieldCount(); i++) {
            if (!hasBinaryForm(row.getTypeAt(i)) || !hasTextForm(row.getTypeAt(i))) {
                return Optional.of(unsupported("column", row, i));
            }
        }
        return Optional.empty();
    }

    /**
     * A key is projected natively, byte for byte as Flink's key projection does it, because the key group hash is taken
     * over those bytes. Of nested values both copy the bytes; a VARIANT Flink takes apart and writes anew.
     */
    static Optional<String> unsupportedKey(RowType row, List<Integer> keys) {
        for (int key : keys) {
            if (containsVariant(row.getTypeAt(key)) || !hasBinaryForm(row.getTypeAt(key))) {
                return Optional.of(unsupported("key column", row, key));
            }
        }
        return Optional.empty();
    }

    /** Rows are put in order natively, by the bytes of their sort keys. */
    static Optional<String> unsupportedSortKey(RowType row, List<Integer> sortKey) {
        for (int index : sortKey) {
            if (!isFlat(row.getTypeAt(index))) {
                return Optional.of(unsupported("sort column", row, index));
            }
        }
        return Optional.empty();
    }

    private static boolean containsVariant(LogicalType type) {
        return type.getTypeRoot().name().equals("VARIANT")
                || type.getChildren().stream().anyMatch(RowTypes::containsVariant);
    }

    /** Whether rows of both types have the same bytes: names don't matter, nor does what may be null. */
    static boolean sameForm(RowType a, RowType b) {
        if (a.getFieldCount() != b.getFieldCount()) {
            return false;
        }
        for (int i = 0; i < a.getFieldCount(); i++) {
            LogicalType left = a.getTypeAt(i).copy(true);
            LogicalType right = b.getTypeAt(i).copy(true);
            if (!supportsAvoidingCast(left, right) || !supportsAvoidingCast(right, left)) {
                return false;
            }
        }
        return true;
    }

    private static boolean hasBinaryForm(LogicalType type) {
        // By name: not every supported Flink line has every root.
        return isFlat(type)
                || switch (type.getTypeRoot().name()) {
                    case "RAW", "VARIANT" -> true;
                    case "ARRAY", "MULTISET", "MAP", "ROW", "STRUCTURED_TYPE", "DISTINCT_TYPE" ->
                            type.getChildren().stream().allMatch(RowTypes::hasBinaryForm);
                    default -> false;
                };
    }

    private static boolean hasTextForm(LogicalType type) {
        try {
            type.asSerializableString();
            return true;
        } catch (TableException e) {
            return false;
        }
    }

    /** Whether values of the type have no parts with types of their own. */
    static boolean isFlat(LogicalType type) {
        return switch (type.getTypeRoot()) {
            case CHAR,
                    VARCHAR,
                    BOOLEAN,
                    BINARY,
                    VARBINARY,
                    DECIMAL,
                    TINYINT,
                    SMALLINT,
                    INTEGER,
                    BIGINT,
                    FLOAT,
                    DOUBLE,
                    DATE,
                    TIME_WITHOUT_TIME_ZONE,
                    TIMESTAMP_WITHOUT_TIME_ZONE,
                    TIMESTAMP_WITH_LOCAL_TIME_ZONE,
                    INTERVAL_YEAR_MONTH,
                    INTERVAL_DAY_TIME ->
                    true;
            default -> false;
        };
    }

    private static String unsupported(String what, RowType row, int index) {
        LogicalType type = row.getTypeAt(index);
        return what + " " + row.getFieldNames().get(index) + " has type " + type.asSummaryString();
    }
}
