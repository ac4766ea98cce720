package drey.fuzz;

import drey.fuzz.FuzzCase.Failure;
import drey.fuzz.FuzzCase.Rescale;
import drey.fuzz.QueryGenerator.Traits;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Makes a case of a seed. */
final class CaseGenerator {

    /** A unit's decisions, by which it can be made again in another way. */
    record Origin(int[] choices, Traits traits) {}

    private static final int UNITS = 10;

    private final long seed;
    private final Map<String, Origin> origins = new LinkedHashMap<>();

    CaseGenerator(long seed) {
        this.seed = seed;
    }

    Map<String, Origin> origins() {
        return origins;
    }

    FuzzCase generate(String origin) {
        List<FuzzTable> tables = new TableGenerator(Choices.seeded(mix(seed, -1))).tables();
        Choices choices = Choices.seeded(mix(seed, -2));
        int parallelism = choices.from(1, 1, 1, 2, 3);
        long clockStep = choices.chance(12) ? 400 : 0;
        boolean alternating = clockStep > 0 || choices.chance(60);
        boolean fails = choices.chance(15);
        Map<String, String> settings = new LinkedHashMap<>();
        if (choices.chance(35)) {
            settings.put("pipeline.object-reuse", "true");
        }
        boolean rocksdb = choices.chance(15);
        if (rocksdb) {
            settings.put("state.backend.type", "rocksdb");
        }
        boolean rescales = choices.chance(15);
        List<Map<String, Integer>> phases = phases(choices, tables, alternating, fails || rescales);
        Failure failure = fails ? failure(choices, phases) : null;
        Rescale rescale =
                rescales && phases.size() > 1 ? rescale(choices, phases, parallelism) : null;
        int subtasks = rescale == null ? parallelism : Math.max(parallelism, rescale.parallelism());

        List<Unit> units = new ArrayList<>();
        for (int i = 0; i < UNITS; i++) {
            Choices unit = Choices.seeded(mix(seed, i));
            Map<String, String> planner = unitSettings(choices, clockStep > 0);
            Traits traits =
                    new Traits(
                            subtasks,
                            planner.containsKey("table.exec.mini-batch.enabled"),
                            alternating,
                            rocksdb,
                            clockStep > 0 && planner.containsKey("table.exec.state.ttl"));
            units.add(new QueryGenerator(unit, tables, traits).unit("u" + i, planner));
            origins.put("u" + i, new Origin(unit.made(), traits));
        }
        return new FuzzCase(
                origin, parallelism, clockStep, settings, failure, rescale, phases, tables, units);
    }

    private static Map<String, String> unitSettings(Choices choices, boolean clock) {
        Map<String, String> s = new LinkedHashMap<>();
        int rows = choices.from(0, 1, 2, 7, 64);
        if (rows > 0) {
            s.put("drey.batch.rows", Integer.toString(rows));
        }
        if (clock && choices.chance(80)) {
            s.put("table.exec.state.ttl", choices.from("1 s", "500 ms", "2 s"));
        } else if (!clock && choices.chance(15)) {
            s.put("table.exec.state.ttl", "10 h");
        }
        if (choices.chance(20)) {
            s.put("table.exec.mini-batch.enabled", "true");
            s.put("table.exec.mini-batch.size", choices.from("10", "1", "3", "100000"));
            // Only the size ends a bundle: the latency would make results depend on the clock.
            s.put("table.exec.mini-batch.allow-latency", "1000 d");
            if (choices.chance(40)) {
                s.put("table.optimizer.agg-phase-strategy", choices.from("ONE_PHASE", "TWO_PHASE"));
            }
            if (choices.chance(25)) {
                s.put("table.optimizer.distinct-agg.split.enabled", "true");
            }
            if (choices.chance(40)) {
                s.put("table.exec.deduplicate.mini-batch.compact-changes-enabled", "true");
            }
        }
        return s;
    }

    /** Checkpoints between the phases; of alternating tables one emits at a time, so that joins see one order of rows. */
    private static List<Map<String, Integer>> phases(
            Choices choices, List<FuzzTable> tables, boolean alternating, boolean several) {
        List<Map<String, Integer>> phases = new ArrayList<>();
        int[] left = tables.stream().mapToInt(t -> t.changes().size()).toArray();
        if (alternating) {
            int turns = choices.between(tables.size(), 2 + tables.size());
            for (int i = 0; i < turns; i++) {
                int t = choices.below(left.length);
                int count = Math.min(left[t], 1 + left[t] * choices.from(50, 10, 90) / 100);
                if (count > 0) {
                    phases.add(new LinkedHashMap<>(Map.of(tables.get(t).name(), count)));
                    left[t] -= count;
                }
            }
            for (int t = 0; t < left.length; t++) {
                if (left[t] > 0) {
                    phases.add(new LinkedHashMap<>(Map.of(tables.get(t).name(), left[t])));
                }
            }
            return phases;
        }
        int parts = several ? 2 : choices.chance(70) ? 1 : 3;
        for (int i = 0; i < parts; i++) {
            Map<String, Integer> phase = new LinkedHashMap<>();
            for (int t = 0; t < left.length; t++) {
                int count = i == parts - 1 ? left[t] : left[t] / 2;
                phase.put(tables.get(t).name(), count);
                left[t] -= count;
            }
            phases.add(phase);
        }
        return phases;
    }

    /** After the first checkpoint, if there is one. */
    private static Failure failure(Choices choices, List<Map<String, Integer>> phases) {
        int phase = phases.size() > 1 ? choices.between(1, phases.size() - 1) : 0;
        for (Map.Entry<String, Integer> e : phases.get(phase).entrySet()) {
            if (e.getValue() > 0) {
                int before = 0;
                for (int i = 0; i < phase; i++) {
                    before += phases.get(i).getOrDefault(e.getKey(), 0);
                }
                return new Failure(e.getKey(), before + choices.below(e.getValue()));
            }
        }
        return null;
    }

    /** After some phase but the last. */
    private static Rescale rescale(
            Choices choices, List<Map<String, Integer>> phases, int parallelism) {
        int phase = choices.below(phases.size() - 1);
        int other = choices.from(2, 1, 3, 4);
        return new Rescale(
                phase,
                other == parallelism ? parallelism + 1 : other,
                choices.from(FuzzCase.Taken.values()));
    }

    /** The finalizer of SplitMix64, of a seed and a number. */
    static long mix(long seed, long n) {
        long z = seed * 0x9E3779B97F4A7C15L + n * 0xD1B54A32D192ED03L;
        z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
