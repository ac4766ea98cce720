package drey.jni;

/** What a native call answers instead of a result: a status of {@code cgo/abi.h} and its message. */
public class NativeException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** Bad specification or argument; nothing happened. */
    public static final int INVALID = 1;

    /** Well-formed, but this library can't run it. */
    public static final int UNSUPPORTED = 2;

    /** Malformed batch or snapshot; state is unchanged. */
    public static final int CORRUPT = 3;

    /** The memory budget does not allow the growth asked for; state is unchanged. */
    public static final int BUDGET = 4;

    /** Stale, closed or never issued handle. */
    public static final int CLOSED = 5;

    /** An earlier call on this handle failed inside the library; the message is that first failure. */
    public static final int POISONED = 6;

    /** A failure inside the library; the message carries its stack, the handle is now poisoned. */
    public static final int INTERNAL = 7;

    /** A function of the host's failed. In Java that function's own exception is thrown instead of this. */
    public static final int HOST = 8;

    /** The query fails on these rows, as it does in Flink; the handle is now poisoned. */
    public static final int QUERY = 9;

    private static final String[] NAMES = {
        "OK",
        "INVALID",
        "UNSUPPORTED",
        "CORRUPT",
        "BUDGET",
        "CLOSED",
        "POISONED",
        "INTERNAL",
        "HOST",
        "QUERY"
    };

    private final int status;

    public NativeException(int status, String message) {
        super(statusName(status) + ": " + message);
        this.status = status;
    }

    public int status() {
        return status;
    }

    public static String statusName(int status) {
        return status >= 0 && status < NAMES.length ? NAMES[status] : "status " + status;
    }
}
