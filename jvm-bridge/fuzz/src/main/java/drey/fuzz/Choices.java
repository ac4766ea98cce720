package drey.fuzz;

import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * Where a generator's decisions come from: a seed, or a list of decisions made before. Lists are what a failing case is
 * shrunk by: whatever a list is changed to, the generator makes a well-formed case of it. 0 is the plainest choice
 * everywhere, and what is chosen beyond the end of a list.
 */
final class Choices {

    private final int[] given;
    private final Random random;
    private int[] made = new int[64];
    private int size;

    private Choices(int[] given, Random random) {
        this.given = given;
        this.random = random;
    }

    static Choices seeded(long seed) {
        return new Choices(new int[0], new Random(seed));
    }

    static Choices replayed(int[] given) {
        return new Choices(given, null);
    }

    /** A number from 0 to bound - 1. */
    int below(int bound) {
        int choice = 0;
        if (random != null) {
            choice = random.nextInt(bound);
        } else if (size < given.length) {
            choice = Math.floorMod(given[size], bound);
        }
        if (size == made.length) {
            made = Arrays.copyOf(made, 2 * size);
        }
        made[size++] = choice;
        return choice;
    }

    int between(int least, int most) {
        return least + below(most - least + 1);
    }

    boolean chance(int percent) {
        return below(100) >= 100 - percent;
    }

    <T> T from(List<T> options) {
        return options.get(below(options.size()));
    }

    @SafeVarargs
    final <T> T from(T... options) {
        return options[below(options.length)];
    }

    /** Every decision made so far. */
    int[] made() {
        return Arrays.copyOf(made, size);
    }
}
