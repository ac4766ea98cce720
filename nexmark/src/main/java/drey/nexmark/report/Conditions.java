package drey.nexmark.report;

/**
 * What must be equal for two runs to be compared.
 *
 * @param checkpoint how often one is taken, or nothing
 * @param unusual settings that have no place of their own here and aren't as usual
 */
public record Conditions(
        String flink,
        String rung,
        String backend,
        int parallelism,
        boolean objectReuse,
        boolean miniBatch,
        String checkpoint,
        long events,
        String unusual) {

    /** Whether the source costs the same under both. */
    public boolean sameSource(Conditions other) {
        return withoutState().equals(other.withoutState());
    }

    private Conditions withoutState() {
        return new Conditions(
                flink, rung, "", parallelism, objectReuse, false, checkpoint, events, unusual);
    }

    /** What a word or two can tell. */
    public String brief() {
        return "%s %s%s%s%s"
                .formatted(
                        rung,
                        backend,
                        parallelism == 1 ? "" : " p" + parallelism,
                        miniBatch ? " mini-batch" : "",
                        objectReuse ? "" : " no reuse");
    }

    @Override
    public String toString() {
        return "Flink %s, %,d events, %s, %s state, parallelism %d, object reuse %s, mini-batch %s%s%s"
                .formatted(
                        flink,
                        events,
                        rung,
                        backend,
                        parallelism,
                        objectReuse ? "on" : "off",
                        miniBatch ? "on" : "off",
                        checkpoint.isEmpty() ? "" : ", a checkpoint every " + checkpoint,
                        unusual.isEmpty() ? "" : ", " + unusual);
    }
}
