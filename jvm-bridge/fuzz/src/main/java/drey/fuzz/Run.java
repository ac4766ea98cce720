package drey.fuzz;

import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.types.RowKind;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One execution of a case: the tasks in this JVM find it by its id, take their rows from it, wait for their turn and leave
 * what reaches the sinks.
 *
 * <p>Rows come in phases. All sources wait at the end of a phase until the driver has seen a checkpoint complete, which
 * means that every operator is done with every row of it. So one table can be made to emit after the other, and what a
 * two-input operator sees is in one order.
 */
final class Run {

    /**
     * A change that reached a sink.
     *
     * @param key the values of the sink's key, empty if it has none
     */
    record Emitted(int phase, RowKind kind, String key, String row) {
        @Override
        public String toString() {
            return kind.shortString() + row;
        }
    }

    private record Arrival(int attempt, int phases) {}

    private static final Map<String, Run> RUNS = new ConcurrentHashMap<>();

    final String id;
    private final FuzzCase fuzzCase;
    private final Map<String, List<GenericRowData>> rows = new HashMap<>();
    private final Map<Integer, Arrival> arrivals = new HashMap<>();
    private final Map<String, TreeMap<Integer, List<Emitted>>> emitted = new HashMap<>();
    private int sources;
    private int open;
    private boolean failed;

    Run(String id, FuzzCase fuzzCase) {
        this.id = id;
        this.fuzzCase = fuzzCase;
        for (FuzzTable t : fuzzCase.tables()) {
            rows.put(t.name(), t.changes().stream().map(c -> c.row(t.columns())).toList());
        }
        RUNS.put(id, this);
    }

    static Run of(String id) {
        Run run = RUNS.get(id);
        if (run == null) {
            throw new IllegalStateException("run " + id + " is over");
        }
        return run;
    }

    void forget() {
        RUNS.remove(id);
    }

    int phases() {
        return fuzzCase.phases().size();
    }

    // --- sources ---------------------------------------------------------------------------------

    synchronized int newSource() {
        return sources++;
    }

    List<GenericRowData> rows(String table) {
        return rows.get(table);
    }

    int rowsIn(int phase, String table) {
        return fuzzCase.phases().get(phase).getOrDefault(table, 0);
    }

    /** Whether the source of the table is to fail now; true once. */
    synchronized boolean failsBefore(String table, int row) {
        FuzzCase.Failure f = fuzzCase.failure();
        if (failed || f == null || !f.table().equals(table) || f.row() != row) {
            return false;
        }
        failed = true;
        return true;
    }

    /** Waits a little for the phase to begin. */
    synchronized boolean begins(int phase) throws InterruptedException {
        if (phase > open) {
            wait(20);
        }
        return phase <= open;
    }

    /** A source is done with some phases. */
    synchronized void arrive(int source, int attempt, int phases) {
        arrivals.put(source, new Arrival(attempt, phases));
        notifyAll();
    }

    // --- driver ----------------------------------------------------------------------------------

    /** Waits a little for all sources to be done with the phase, in the same attempt at running the job. */
    synchronized boolean allArrived(int phase, int sources) throws InterruptedException {
        if (!haveArrived(phase, sources)) {
            wait(20);
        }
        return haveArrived(phase, sources);
    }

    private boolean haveArrived(int phase, int sources) {
        return arrivals.size() == sources
                && arrivals.values().stream().allMatch(a -> a.phases() > phase)
                && arrivals.values().stream().map(Arrival::attempt).distinct().count() == 1;
    }

    /** The job ends here, and another one goes on. */
    synchronized void plannedAgain() {
        sources = 0;
        arrivals.clear();
    }

    synchronized void open(int phase) {
        open = phase;
        if (fuzzCase.clockStep() > 0) {
            Clock.set(Clock.START + phase * fuzzCase.clockStep());
        }
        notifyAll();
    }

    // --- sinks -----------------------------------------------------------------------------------

    /** A sink's subtask starts, perhaps again: then what it got since the last checkpoint comes once more. */
    synchronized void begin(String query, int subtask) {
        list(query, subtask).removeIf(e -> e.phase() >= open);
    }

    synchronized void emit(String query, int subtask, RowKind kind, String key, String row) {
        list(query, subtask).add(new Emitted(open, kind, key, row));
    }

    private List<Emitted> list(String query, int subtask) {
        return emitted.computeIfAbsent(query, q -> new TreeMap<>())
                .computeIfAbsent(subtask, s -> new ArrayList<>());
    }

    /** What reached the sink of a query, phase after phase, and in each subtask after subtask: another one may have a key later. */
    synchronized List<Emitted> emitted(String query) {
        List<Emitted> all = new ArrayList<>();
        emitted.getOrDefault(query, new TreeMap<>()).values().forEach(all::addAll);
        all.sort(Comparator.comparingInt(Emitted::phase));
        return all;
    }
}
