package drey.it.join;

import org.apache.flink.configuration.ReadableConfig;
import org.apache.flink.runtime.state.AbstractKeyedStateBackend;
import org.apache.flink.runtime.state.KeyedStateBackendParametersImpl;
import org.apache.flink.runtime.state.StateBackendFactory;
import org.apache.flink.runtime.state.hashmap.HashMapStateBackend;

import java.io.IOException;
import java.util.concurrent.TimeUnit;

/** Flink's heap backend by another clock: state expires in epochs of {@link Turns}, which take a minute each. */
final class EpochClock extends HashMapStateBackend {

    private static final long serialVersionUID = 1L;

    private static volatile long now;

    /** Begins an epoch. All feeds do so with the same one, before they emit its rows. */
    static void reach(long epoch) {
        now = 1_700_000_000_000L + TimeUnit.MINUTES.toMillis(epoch);
    }

    /** What {@code state.backend.type} names. */
    public static final class Factory implements StateBackendFactory<EpochClock> {
        @Override
        public EpochClock createFromConfig(ReadableConfig config, ClassLoader classLoader) {
            return new EpochClock();
        }
    }

    /** Flink's own would give up the subclass. */
    @Override
    public HashMapStateBackend configure(ReadableConfig config, ClassLoader classLoader) {
        return this;
    }

    @Override
    public <K> AbstractKeyedStateBackend<K> createKeyedStateBackend(
            KeyedStateBackendParameters<K> parameters) throws IOException {
        KeyedStateBackendParametersImpl<K> ours = new KeyedStateBackendParametersImpl<>(parameters);
        ours.setTtlTimeProvider(() -> now);
        return super.createKeyedStateBackend(ours);
    }
}
