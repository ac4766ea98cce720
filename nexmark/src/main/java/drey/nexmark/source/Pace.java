package drey.nexmark.source;

import java.util.concurrent.locks.LockSupport;

/** Keeps a reader from being ahead of a rate, by moments so short that the task's mailbox doesn't wait long. */
final class Pace {

    private static final long LONGEST_NANOS = 1_000_000;

    private final double nanosPerEvent;
    private long start;
    private long first;

    /** @param eventsPerSecond of all readers together; 0 for any */
    Pace(long eventsPerSecond) {
        nanosPerEvent = eventsPerSecond == 0 ? 0 : 1e9 / eventsPerSecond;
    }

    /** Waits until it is this event's turn. */
    void await(long event) {
        if (nanosPerEvent == 0) {
            return;
        }
        if (start == 0) {
            start = System.nanoTime();
            first = event;
        }
        long due = start + (long) ((event - first) * nanosPerEvent);
        for (long left = due - System.nanoTime(); left > 0; left = due - System.nanoTime()) {
            LockSupport.parkNanos(Math.min(left, LONGEST_NANOS));
        }
    }
}
