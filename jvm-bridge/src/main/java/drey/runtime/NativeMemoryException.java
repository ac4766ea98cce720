package drey.runtime;

/**
 * A native operator needs more state memory than its share of the slot's managed memory, or has none. The message names the
 * operator, what asked for how many bytes, the limit, and the Flink options that raise it.
 */
public final class NativeMemoryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    NativeMemoryException(String operator, String what, Throwable cause) {
        super(
                "native operator "
                        + operator
                        + " is short of managed memory: "
                        + what
                        + ". Raise taskmanager.memory.managed.fraction or"
                        + " taskmanager.memory.managed.size, raise the parallelism, give operators more of"
                        + " what RocksDB takes with taskmanager.memory.managed.consumer-weights, or keep the"
                        + " operator on Flink with drey.operator."
                        + operator
                        + ".enabled: false (starting without its native state, which Flink's operator can't read)",
                cause);
    }
}
