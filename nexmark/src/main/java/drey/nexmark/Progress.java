package drey.nexmark;

import drey.nexmark.measure.Probe;
import java.io.PrintStream;
import java.util.Locale;

/** A line on the terminal that is rewritten while a run goes on: rows so far, rate, time left. */
final class Progress implements AutoCloseable {

    private static final int WIDTH = 24;

    private final PrintStream out = System.err;
    private final boolean enabled;
    private final String label;
    private final Probe probe;
    private final long total;
    private final Thread thread;
    private volatile boolean done;

    Progress(boolean enabled, String label, Probe probe, long total) {
        this.enabled = enabled;
        this.label = label;
        this.probe = probe;
        this.total = total;
        this.thread = new Thread(this::run, "progress");
        if (enabled) {
            thread.setDaemon(true);
            thread.start();
        }
    }

    private void run() {
        long firstRow = 0;
        while (!done) {
            long rows = probe.rowsIn();
            long now = System.nanoTime();
            if (rows == 0) {
                firstRow = now;
            }
            show(rows, Math.max(1, now - firstRow) / 1e9);
            try {
                Thread.sleep(200);
            } catch (InterruptedException e) {
                return;
            }
        }
    }

    private void show(long rows, double seconds) {
        double share = Math.min(1, (double) rows / total);
        int filled = (int) (share * WIDTH);
        double rate = rows / seconds;
        long left = rows == 0 ? 0 : (long) Math.ceil((total - rows) / rate);
        out.printf(
                Locale.ROOT,
                "\r%-16s [%s%s] %,12d of %,d rows %3d %%  %,9.0f rows/s  %s\033[K",
                label,
                "#".repeat(filled),
                ".".repeat(WIDTH - filled),
                rows,
                total,
                (int) (share * 100),
                rows == 0 ? 0 : rate,
                rows == 0 ? "starting" : "ETA %d:%02d".formatted(left / 60, left % 60));
        out.flush();
    }

    @Override
    public void close() {
        done = true;
        if (enabled) {
            thread.interrupt();
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
            out.print("\r\033[K");
            out.flush();
        }
    }
}
