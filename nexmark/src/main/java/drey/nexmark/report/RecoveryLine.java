package drey.nexmark.report;

import drey.nexmark.measure.Csv;

/**
 * How long a cluster of processes took to have a query at work again with one engine.
 *
 * @param checkpointBytes size of the checkpoint it went on from
 * @param recoveryMs from kill -9 of the TaskManager to all tasks running, with their state, on another one that stood by
 * @param restoreMs the part of it from the tasks' deployment on
 */
public record RecoveryLine(
        String query,
        Conditions conditions,
        String engine,
        long checkpointBytes,
        long recoveryMs,
        long restoreMs) {

    public static final Csv<RecoveryLine> CSV = new Csv<>(RecoveryLine.class);
}
