package drey.nexmark.digest;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.HashMap;
import org.apache.flink.types.RowKind;

/**
 * Sums up a changelog so that two of them can be compared without keeping either. Rows fall into buckets by the hash of
 * their key; a bucket holds one number, kept in one of three ways by how much two changelogs must have in common:
 *
 * <ul>
 *   <li>{@link Sameness#ORDER}: a chain over the changes in arrival order;
 *   <li>{@link Sameness#CHANGES}: the sum of the changes' hashes;
 *   <li>{@link Sameness#RESULT}: the sum of the rows added less those taken away. Where UPDATE_BEFORE is not sent, this
 *       needs to remember the row that an update replaces: {@link #applyKeyed}.
 * </ul>
 *
 * <p>One number a bucket keeps all of them in the second-level cache. Digests of parallel sinks add up, bucket by bucket.
 */
public final class ChangelogDigest {

    public static final int BUCKETS = 1 << 16;

    /** How much of a changelog two runs must have in common to count as the same. */
    public enum Sameness {
        /** Every change, and for each bucket their order. */
        ORDER,
        /** Every change, in whatever order. */
        CHANGES,
        /** The table that the changelog leaves behind. */
        RESULT,
        /** Nothing: the query depends on the clock. */
        NOTHING
    }

    private static final long[] KIND = {
        0x8BB84B93962EACC9L, 0x4B33A62ED433D4A3L, 0x4D5A2DA51DE1AA47L, 0xA0761D6478BD642FL
    };

    private final Sameness sameness;
    private final long[] buckets = new long[BUCKETS];
    private final long[] kinds = new long[RowKind.values().length];
    private final HashMap<Long, Long> current = new HashMap<>();

    public ChangelogDigest(Sameness sameness) {
        this.sameness = sameness;
    }

    public Sameness sameness() {
        return sameness;
    }

    /** Which bucket a key falls into. */
    public static int bucket(long keyHash) {
        return (int) (keyHash >>> 48);
    }

    /** Applies a change of a changelog that holds UPDATE_BEFORE wherever there is UPDATE_AFTER, or only inserts. */
    public void apply(RowKind kind, long keyHash, long rowHash) {
        int k = kind.toByteValue();
        int bucket = bucket(keyHash);
        kinds[k]++;
        if (sameness == Sameness.ORDER) {
            buckets[bucket] = RowHasher.mix(buckets[bucket] ^ rowHash, KIND[k]);
        } else if (sameness == Sameness.CHANGES) {
            buckets[bucket] += RowHasher.mix(rowHash, KIND[k]);
        } else {
            buckets[bucket] += adds(kind) ? rowHash : -rowHash;
        }
    }

    /** Applies a change of a changelog in which UPDATE_BEFORE is left out and the key is unique. */
    public void applyKeyed(RowKind kind, long keyHash, long rowHash) {
        if (sameness != Sameness.RESULT) {
            apply(kind, keyHash, rowHash);
            return;
        }
        kinds[kind.toByteValue()]++;
        boolean adds = adds(kind);
        Long before = adds ? current.put(keyHash, rowHash) : current.remove(keyHash);
        buckets[bucket(keyHash)] += (adds ? rowHash : 0) - (before == null ? 0 : before);
    }

    private static boolean adds(RowKind kind) {
        return kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER;
    }

    /** Adds the digest of a parallel sink, which must have had other keys. */
    public void add(ChangelogDigest other) {
        mustMatch(other);
        for (int i = 0; i < BUCKETS; i++) {
            buckets[i] += other.buckets[i];
        }
        for (int i = 0; i < kinds.length; i++) {
            kinds[i] += other.kinds[i];
        }
    }

    private void mustMatch(ChangelogDigest other) {
        if (other.sameness != sameness) {
            throw new IllegalArgumentException(
                    "digests of %s and of %s have nothing to say about each other"
                            .formatted(sameness, other.sameness));
        }
    }

    public long rows() {
        long sum = 0;
        for (long count : kinds) {
            sum += count;
        }
        return sum;
    }

    public long rows(RowKind kind) {
        return kinds[kind.toByteValue()];
    }

    /** One number for all buckets. */
    public long value() {
        long value = 0;
        for (long bucket : buckets) {
            value = RowHasher.mix(value ^ bucket, KIND[1]);
        }
        return value;
    }

    /** The first bucket in which the two differ, or -1. */
    public int firstDifference(ChangelogDigest other) {
        mustMatch(other);
        if (sameness != Sameness.NOTHING) {
            for (int i = 0; i < BUCKETS; i++) {
                if (buckets[i] != other.buckets[i]) {
                    return i;
                }
            }
        }
        return -1;
    }

    public void write(DataOutputStream out) throws IOException {
        out.writeUTF(sameness.name());
        for (long bucket : buckets) {
            out.writeLong(bucket);
        }
        for (long count : kinds) {
            out.writeLong(count);
        }
    }

    public static ChangelogDigest read(DataInputStream in) throws IOException {
        ChangelogDigest digest = new ChangelogDigest(Sameness.valueOf(in.readUTF()));
        for (int i = 0; i < BUCKETS; i++) {
            digest.buckets[i] = in.readLong();
        }
        for (int i = 0; i < digest.kinds.length; i++) {
            digest.kinds[i] = in.readLong();
        }
        return digest;
    }
}
