package drey.nexmark.measure;

/**
 * What the state of a job takes when all events are in it.
 *
 * @param stateKeys keys over all native operators; 0 for stock Flink, which doesn't count them
 * @param heapBytes of the Java heap, garbage apart
 * @param nativeBytes of native operators, by their own count
 * @param fullCheckpointBytes size of a checkpoint that holds everything
 * @param fullCheckpointMs how long it took, with nothing else to do
 */
public record StateSize(
        long stateKeys,
        long heapBytes,
        long nativeBytes,
        long fullCheckpointBytes,
        long fullCheckpointMs) {

    /** Less what another one took, but for time. */
    public StateSize minus(StateSize other) {
        return new StateSize(
                stateKeys,
                Math.max(0, heapBytes - other.heapBytes),
                nativeBytes,
                fullCheckpointBytes,
                fullCheckpointMs);
    }
}
