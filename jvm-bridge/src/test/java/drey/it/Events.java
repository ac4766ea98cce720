package drey.it;

import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.api.common.typeinfo.Types;
import org.apache.flink.connector.datagen.source.GeneratorFunction;
import org.apache.flink.types.Row;

import java.math.BigDecimal;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;

/** Deterministic events: the i-th is a function of i alone. */
final class Events implements GeneratorFunction<Long, Row> {

    private static final long serialVersionUID = 1L;

    static final TypeInformation<Row> TYPE =
            Types.ROW_NAMED(
                    new String[] {"k", "id", "price", "note", "ts"},
                    Types.STRING,
                    Types.LONG,
                    Types.BIG_DEC,
                    Types.STRING,
                    Types.LOCAL_DATE_TIME);

    /** Events from this one on come slowly, so that a test has time to do something to the job. */
    static final AtomicLong SLOW_FROM = new AtomicLong(Long.MAX_VALUE);

    private final int keys;

    Events(int keys) {
        this.keys = keys;
    }

    @Override
    public Row map(Long i) throws InterruptedException {
        if (i >= SLOW_FROM.get()) {
            TimeUnit.MILLISECONDS.sleep(2);
        }
        long h = mix(i);
        int key = (int) Long.remainderUnsigned(h, keys);
        // Every key has ties and rows out of order, by at most half a second.
        long millis = 1_700_000_000_000L + i / 3 * 2 - ((h >>> 20) & 3) * 100;
        return Row.of(
                key == 0 ? null : "key-" + key,
                // Few values, so that equal rows follow one another.
                (h >>> 32) & 1,
                BigDecimal.valueOf((h >>> 33) & 1, 2),
                ((h >>> 34) & 1) == 0 ? null : "a note longer than the fixed part of a row",
                LocalDateTime.ofEpochSecond(
                        millis / 1000, (int) (millis % 1000) * 1_000_000, ZoneOffset.UTC));
    }

    /** The finalizer of SplitMix64. */
    private static long mix(long z) {
        z = (z + 0x9E3779B97F4A7C15L) * 0xBF58476D1CE4E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
        return z ^ (z >>> 31);
    }
}
