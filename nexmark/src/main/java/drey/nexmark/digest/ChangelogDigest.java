package drey.nexmark.digest;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.util.HashMap;
import org.apache.flink.types.RowKind;

/**
 * Sums up a changelog so that two of them can be compared without keeping either. Rows fall into buckets by the hash of
 * their key; a bucket holds four numbers:
 *
 * <ul>
 *   <li><b>order</b>: a chain over the changes in arrival order. Equal only if the changes of the bucket are the same in
 *       the same order, row kinds included.
 *   <li><b>changes</b>: the sum of the changes' hashes, equal if they are the same in any order.
 *   <li><b>result</b>: what is left when each change has been applied: the sum of the rows added less those taken away.
 *   <li>how many changes there were.
 * </ul>
 *
 * <p>Where UPDATE_BEFORE is not sent, <i>result</i> needs to remember the row that an update replaces: {@link
 * #applyKeyed}. Digests of parallel sinks add up, bucket by bucket.
 */
public final class ChangelogDigest {

    public static final int BUCKETS = 1 << 16;

    /** How much of a changelog two runs must have in common to count as the same. */
    public enum Sameness {
        /** Every change, and for each bucket their order. */
        ORDER(0),
        /** Every change, in whatever order. */
        CHANGES(1),
        /** The table that the changelog leaves behind. */
        RESULT(2),
        /** Nothing: the query depends on the clock. */
        NOTHING(-1);

        private final int lane;

        Sameness(int lane) {
            this.lane = lane;
        }
    }

    private static final int LANES = 4;
    private static final int COUNT = 3;
    private static final long[] KIND = {
        0x8BB84B93962EACC9L, 0x4B33A62ED433D4A3L, 0x4D5A2DA51DE1AA47L, 0xA0761D6478BD642FL
    };

    private final long[] lanes = new long[BUCKETS * LANES];
    private final long[] kinds = new long[RowKind.values().length];
    private final HashMap<Long, Long> current = new HashMap<>();

    /** Which bucket a key falls into. */
    public static int bucket(long keyHash) {
        return (int) (keyHash >>> 48);
    }

    /** Applies a change of a changelog that holds UPDATE_BEFORE wherever there is UPDATE_AFTER, or only inserts. */
    public void apply(RowKind kind, long keyHash, long rowHash) {
        boolean adds = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER;
        apply(kind, keyHash, rowHash, adds ? rowHash : -rowHash);
    }

    /** Applies a change of a changelog in which UPDATE_BEFORE is left out and the key is unique. */
    public void applyKeyed(RowKind kind, long keyHash, long rowHash) {
        boolean adds = kind == RowKind.INSERT || kind == RowKind.UPDATE_AFTER;
        Long before = adds ? current.put(keyHash, rowHash) : current.remove(keyHash);
        apply(kind, keyHash, rowHash, (adds ? rowHash : 0) - (before == null ? 0 : before));
    }

    private void apply(RowKind kind, long keyHash, long rowHash, long result) {
        int k = kind.toByteValue();
        long change = RowHasher.mix(rowHash ^ KIND[k], KIND[0]);
        int at = bucket(keyHash) * LANES;
        lanes[at] = RowHasher.mix(lanes[at] ^ change, KIND[3]);
        lanes[at + 1] += change;
        lanes[at + 2] += result;
        lanes[at + COUNT]++;
        kinds[k]++;
    }

    /** Adds the digest of a parallel sink, which must have had other keys. */
    public void add(ChangelogDigest other) {
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] += other.lanes[i];
        }
        for (int i = 0; i < kinds.length; i++) {
            kinds[i] += other.kinds[i];
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
    public long value(Sameness sameness) {
        long value = 0;
        if (sameness.lane >= 0) {
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                value = RowHasher.mix(value ^ lanes[bucket * LANES + sameness.lane], KIND[1]);
            }
        }
        return value;
    }

    /** The first bucket in which the two differ, or -1. */
    public int firstDifference(ChangelogDigest other, Sameness sameness) {
        if (sameness.lane >= 0) {
            for (int bucket = 0; bucket < BUCKETS; bucket++) {
                int at = bucket * LANES + sameness.lane;
                if (lanes[at] != other.lanes[at]) {
                    return bucket;
                }
            }
        }
        return -1;
    }

    public void write(DataOutputStream out) throws IOException {
        for (long lane : lanes) {
            out.writeLong(lane);
        }
        for (long count : kinds) {
            out.writeLong(count);
        }
    }

    public static ChangelogDigest read(DataInputStream in) throws IOException {
        ChangelogDigest digest = new ChangelogDigest();
        for (int i = 0; i < digest.lanes.length; i++) {
            digest.lanes[i] = in.readLong();
        }
        for (int i = 0; i < digest.kinds.length; i++) {
            digest.kinds[i] = in.readLong();
        }
        return digest;
    }
}
