package drey.jni;

/**
 * The condition of a join as the host has compiled it, for a native operator to ask: one call for many pairs of rows.
 *
 * <p>It is called on the thread that is inside a call of {@link NativeOperator}, and must not call that itself. What it throws
 * ends that call, which throws the same; the operator is then good for closing only.
 */
public interface PairCondition {

    /**
     * Sets byte i at {@code matches} to whether (1) or not (0) row i of the left side matches row i of the right one. Row i of a
     * side is a BinaryRowData at {@code data + offsets[i]} up to {@code data + offsets[i + 1]}; offsets are 32 bit, unsigned. All
     * memory is borrowed for the call.
     */
    void evaluate(
            long leftData,
            long leftOffsets,
            long rightData,
            long rightOffsets,
            int pairs,
            long matches)
            throws Exception;
}
