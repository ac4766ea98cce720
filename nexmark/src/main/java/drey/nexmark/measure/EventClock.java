package drey.nexmark.measure;

import drey.nexmark.generator.GeneratorConfig;
import java.util.concurrent.atomic.AtomicLongArray;

/**
 * When events were emitted, to a few dozen of them. A watermark that a sink receives tells that all events up to its time have
 * been dealt with: the time since the last of these was emitted is what the whole job takes to answer an event.
 */
public final class EventClock {

    private static final int SHIFT = 6;

    /** How far watermarks are behind the events that cause them: see ddl.sql. */
    private static final long WATERMARK_DELAY = 4_000;

    private final GeneratorConfig config;
    private final AtomicLongArray emitted;

    public EventClock(GeneratorConfig config) {
        this.config = config;
        emitted = new AtomicLongArray(Math.toIntExact((config.events() >>> SHIFT) + 1));
    }

    /** Events from this one on are about to be emitted. */
    public void emitting(long event) {
        if (event < config.events()) {
            emitted.lazySet((int) (event >>> SHIFT), System.nanoTime());
        }
    }

    /** Nanoseconds since the event that caused this watermark was emitted, or -1 if none did. */
    long since(long watermark, long now) {
        long event = event(watermark + WATERMARK_DELAY);
        if (event < 0 || event >= config.events()) {
            return -1;
        }
        for (int i = (int) (event >>> SHIFT); i >= 0; i--) {
            long at = emitted.get(i);
            if (at != 0) {
                return now - at;
            }
        }
        return -1;
    }

    /** The first event of a time. */
    private long event(long timestamp) {
        long millis = timestamp - config.baseTime();
        return millis < 0 ? -1 : (millis * config.rate() + 999) / 1000;
    }
}
