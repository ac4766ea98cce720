package drey.nexmark.generator;

/**
 * A stream of random numbers that can start anywhere: every event has its own stream, named by seed and event number.
 * So an event depends on nothing but its number, and splits may begin, skip and resume at will (SplitMix64).
 */
final class RandomSource {

    private static final long GAMMA = 0x9E3779B97F4A7C15L;

    private long state;

    void start(long seed, long stream) {
        state = mix(seed ^ mix(stream * GAMMA + 0x632BE59BD9B4E019L));
    }

    long next() {
        state += GAMMA;
        return mix(state);
    }

    /** Uniform in [0, bound), but for a bias below 2^-32 of the multiply-shift method per unit of the bound. */
    int below(int bound) {
        return (int) (((next() >>> 32) * bound) >>> 32);
    }

    /** Uniform in [0, 1). */
    double unit() {
        return (next() >>> 11) * 0x1.0p-53;
    }

    private static long mix(long z) {
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
