package drey.parity;

import drey.jni.NativeLibrary;
import drey.parity.Log.Entry;
import drey.runtime.BatchOptions;

import org.apache.flink.table.data.binary.BinaryRowData;
import org.apache.flink.table.runtime.typeutils.RowDataSerializer;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;

/**
 * The same input in many ways: with other batches, restored at other points, on other numbers of subtasks, and by other kernels.
 * What comes out must be equal. Flink has no part in it, so it says nothing of what is right ({@link Parity} does), but it is
 * fast, and whatever depends on where a batch ends shows.
 *
 * <p>Arguments: operator, rows per subject, seed. The last line has a digest of all output, which {@code make metamorphic}
 * compares from one set of kernels to the next.
 */
public final class Metamorphic {

    /** The first is what the others are held against. */
    private static final List<Variant> VARIANTS =
            List.of(
                    new Variant("one by one", 1, 1 << 20, Between.NOTHING),
                    new Variant("batches of 2", 2, 1 << 20, Between.NOTHING),
                    new Variant("batches of 7", 7, 1 << 20, Between.NOTHING),
                    new Variant("batches of 100 bytes", 1024, 100, Between.NOTHING),
                    new Variant("batches of 4096", 4096, 1 << 20, Between.NOTHING),
                    new Variant("batches of 64, restored", 64, 1 << 20, Between.RESTORE),
                    new Variant("batches of 3, rescaled", 3, 1 << 20, Between.RESCALE),
                    new Variant("batches of 1024, rescaled", 1024, 1 << 20, Between.RESCALE));

    private static final int CHUNK = 50;

    private enum Between {
        NOTHING,
        RESTORE,
        RESCALE
    }

    /**
     * @param between what becomes of each checkpoint of the base
     */
    private record Variant(String name, int rows, int bytes, Between between) {}

    private Metamorphic() {}

    public static void main(String[] args) throws Exception {
        NativeLibrary.load();
        String operator = args[0];
        long rows = Long.parseLong(args[1]);
        long seed = args.length > 2 ? Long.parseLong(args[2]) : System.nanoTime();
        MessageDigest digest = MessageDigest.getInstance("SHA-256");
        int variants = 0;
        List<Subject> subjects = Subjects.of(operator);
        for (Subject subject : subjects) {
            variants += run(subject, seed++, rows, digest);
        }
        System.out.printf(
                Locale.ROOT,
                "metamorphic %s: %d subjects, %d variants of %,d rows, all equal, digest %s%n",
                operator,
                subjects.size(),
                variants,
                rows,
                HexFormat.of().formatHex(digest.digest(), 0, 8));
    }

    /** Plays all variants of one subject that there are. Returns how many. */
    static int run(Subject subject, long seed, long rows, MessageDigest digest) throws Exception {
        List<List<Entry>> base = null;
        int played = 0;
        for (Variant variant : VARIANTS) {
            // Each subtask has a bundle of its own.
            if (variant.between == Between.RESCALE && bundles(subject)) {
                continue;
            }
            List<List<Entry>> sections = play(subject, variant, seed, rows);
            if (base == null) {
                base = sections;
                add(digest, subject, base);
            }
            compare(subject, variant, seed, base, sections);
            played++;
        }
        return played;
    }

    private static boolean bundles(Subject subject) {
        return subject.spec().contains("\"miniBatch\"");
    }

    /** The rows between checkpoints. */
    private static List<List<Entry>> play(Subject subject, Variant variant, long seed, long rows)
            throws Exception {
        SplittableRandom rng = new SplittableRandom(seed);
        SplittableRandom own = new SplittableRandom(seed + 1);
        int inputs = subject.inputs().size();
        Scenario scenario =
                new Scenario(
                        inputs,
                        subject.feed(rng, CHUNK),
                        new Scenario.Options(rows, subject.ttl(), 0),
                        rng);
        Long[] watermarks = new Long[inputs];
        List<List<Entry>> sections = new ArrayList<>();
        BatchOptions batches = new BatchOptions(variant.rows, variant.bytes, 0);
        try (Runner runner = Runner.ours(subject, batches)) {
            while (scenario.hasNext()) {
                Scenario.Step step = scenario.next();
                if (step instanceof Scenario.WatermarkStep mark) {
                    watermarks[mark.input()] = mark.timestamp();
                }
                boolean checkpoint = step instanceof Scenario.Checkpoint;
                if (checkpoint && variant.between != Between.NOTHING) {
                    int subtasks = variant.between == Between.RESTORE ? 1 : 1 + own.nextInt(4);
                    runner.play(new Scenario.Restart(subtasks));
                    sections.add(rows(runner.take()));
                    for (int i = 0; i < inputs; i++) {
                        // Not part of a snapshot, and what is late must be as late as in the base.
                        if (watermarks[i] != null) {
                            runner.play(new Scenario.WatermarkStep(i, watermarks[i]));
                        }
                    }
                    continue;
                }
                runner.play(step);
                if (checkpoint) {
                    sections.add(rows(runner.take()));
                }
            }
            runner.end();
            sections.add(rows(runner.take()));
        }
        return sections;
    }

    private static List<Entry> rows(List<Log> logs) {
        return logs.stream()
                .flatMap(log -> log.entries.stream())
                .filter(e -> e.row() != null)
                .toList();
    }

    private static void compare(
            Subject subject,
            Variant variant,
            long seed,
            List<List<Entry>> base,
            List<List<Entry>> sections) {
        if (base.size() != sections.size()) {
            throw new AssertionError(
                    where(subject, variant, seed) + base.size() + " and " + sections.size());
        }
        // Which of equal matches is found first is open once they were restored, and so is the
        // order of a bundle's keys: a HashMap's, which has more bins the longer it has been in use.
        boolean ordered =
                variant.between == Between.NOTHING
                        || variant.between == Between.RESTORE
                                && subject.identity() == Subject.Identity.SEQUENCE
                                && !bundles(subject);
        for (int i = 0; i < base.size(); i++) {
            List<Entry> a = base.get(i);
            List<Entry> b = sections.get(i);
            if (ordered ? !a.equals(b) : !counts(a).equals(counts(b))) {
                throw new AssertionError(
                        where(subject, variant, seed)
                                + "section "
                                + i
                                + difference(subject, a, b, ordered));
            }
        }
    }

    private static String where(Subject subject, Variant variant, long seed) {
        return subject + ", " + variant.name + ", seed " + seed + ": ";
    }

    private static String difference(
            Subject subject, List<Entry> a, List<Entry> b, boolean ordered) {
        if (!ordered) {
            Map<Entry, Integer> counts = counts(a);
            counts(b).forEach((e, n) -> counts.merge(e, -n, Integer::sum));
            counts.values().removeIf(n -> n == 0);
            StringBuilder s = new StringBuilder(", more often in the base:");
            counts.forEach(
                    (e, n) ->
                            s.append("\n  ")
                                    .append(n)
                                    .append("x ")
                                    .append(e.format(subject.output())));
            return s.toString();
        }
        int i = 0;
        while (i < Math.min(a.size(), b.size()) && a.get(i).equals(b.get(i))) {
            i++;
        }
        return ", row "
                + i
                + " of "
                + a.size()
                + " and "
                + b.size()
                + ":"
                + text(subject, a, i)
                + text(subject, b, i);
    }

    private static String text(Subject subject, List<Entry> entries, int i) {
        return "\n  " + (i < entries.size() ? entries.get(i).format(subject.output()) : "(none)");
    }

    private static Map<Entry, Integer> counts(List<Entry> entries) {
        Map<Entry, Integer> counts = new HashMap<>();
        entries.forEach(e -> counts.merge(e, 1, Integer::sum));
        return counts;
    }

    private static void add(MessageDigest digest, Subject subject, List<List<Entry>> sections) {
        digest.update(subject.toString().getBytes(StandardCharsets.UTF_8));
        RowDataSerializer rows = new RowDataSerializer(subject.output());
        for (List<Entry> section : sections) {
            digest.update(ByteBuffer.allocate(4).putInt(section.size()).array());
            for (Entry e : section) {
                digest.update(e.kind().toByteValue());
                BinaryRowData row = rows.toBinaryRow(e.row());
                byte[] bytes = new byte[row.getSizeInBytes()];
                row.getSegments()[0].get(row.getOffset(), bytes);
                digest.update(bytes);
            }
        }
    }
}
