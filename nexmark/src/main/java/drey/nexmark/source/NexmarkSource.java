package drey.nexmark.source;

import drey.nexmark.generator.GeneratorConfig;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.flink.api.connector.source.Boundedness;
import org.apache.flink.api.connector.source.Source;
import org.apache.flink.api.connector.source.SourceReader;
import org.apache.flink.api.connector.source.SourceReaderContext;
import org.apache.flink.api.connector.source.SplitEnumerator;
import org.apache.flink.api.connector.source.SplitEnumeratorContext;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;
import org.apache.flink.table.data.RowData;

/** The benchmark's events as a Flink source, generated or replayed, in as many splits as one likes. */
public final class NexmarkSource implements Source<RowData, NexmarkSplit, List<NexmarkSplit>> {

    private static final long serialVersionUID = 1L;

    private final GeneratorConfig config;
    private final boolean replay;
    private final int splits;
    private final long pace;
    private final boolean stay;
    private final String run;

    /**
     * @param splits number of splits; 0 makes one per source subtask
     * @param pace events per second, or 0 for as fast as possible
     * @param stay whether the source stays after its last event
     */
    public NexmarkSource(
            GeneratorConfig config,
            boolean replay,
            int splits,
            long pace,
            boolean stay,
            String run) {
        this.config = config;
        this.replay = replay;
        this.splits = splits;
        this.pace = pace;
        this.stay = stay;
        this.run = run;
    }

    @Override
    public Boundedness getBoundedness() {
        return Boundedness.BOUNDED;
    }

    @Override
    public SourceReader<RowData, NexmarkSplit> createReader(SourceReaderContext context) {
        return new NexmarkReader(config, replay, pace, stay, run);
    }

    @Override
    public SplitEnumerator<NexmarkSplit, List<NexmarkSplit>> createEnumerator(
            SplitEnumeratorContext<NexmarkSplit> context) {
        int count = splits > 0 ? splits : context.currentParallelism();
        List<NexmarkSplit> all = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(new NexmarkSplit(i, count, 0));
        }
        return new Enumerator(context, all);
    }

    @Override
    public SplitEnumerator<NexmarkSplit, List<NexmarkSplit>> restoreEnumerator(
            SplitEnumeratorContext<NexmarkSplit> context, List<NexmarkSplit> unassigned) {
        return new Enumerator(context, unassigned);
    }

    @Override
    public SimpleVersionedSerializer<NexmarkSplit> getSplitSerializer() {
        return new NexmarkSplit.Serializer();
    }

    @Override
    public SimpleVersionedSerializer<List<NexmarkSplit>> getEnumeratorCheckpointSerializer() {
        return new UnassignedSerializer();
    }

    /** Gives split i to subtask i modulo parallelism, as soon as that subtask has registered. */
    private static final class Enumerator
            implements SplitEnumerator<NexmarkSplit, List<NexmarkSplit>> {

        private final SplitEnumeratorContext<NexmarkSplit> context;
        private final List<NexmarkSplit> unassigned;

        Enumerator(SplitEnumeratorContext<NexmarkSplit> context, List<NexmarkSplit> unassigned) {
            this.context = context;
            this.unassigned = new ArrayList<>(unassigned);
        }

        @Override
        public void start() {}

        @Override
        public void handleSplitRequest(int subtask, String host) {
            // Readers don't ask: they get all of theirs when they register.
        }

        @Override
        public void addSplitsBack(List<NexmarkSplit> splits, int subtask) {
            unassigned.addAll(splits);
            if (context.registeredReaders().containsKey(subtask)) {
                addReader(subtask);
            }
        }

        @Override
        public void addReader(int subtask) {
            List<NexmarkSplit> own = new ArrayList<>();
            for (NexmarkSplit split : unassigned) {
                if (split.index() % context.currentParallelism() == subtask) {
                    own.add(split);
                }
            }
            unassigned.removeAll(own);
            for (NexmarkSplit split : own) {
                context.assignSplit(split, subtask);
            }
            context.signalNoMoreSplits(subtask);
        }

        @Override
        public List<NexmarkSplit> snapshotState(long checkpointId) {
            return new ArrayList<>(unassigned);
        }

        @Override
        public void close() {}
    }

    private static final class UnassignedSerializer
            implements SimpleVersionedSerializer<List<NexmarkSplit>> {

        private final NexmarkSplit.Serializer one = new NexmarkSplit.Serializer();

        @Override
        public int getVersion() {
            return one.getVersion();
        }

        @Override
        public byte[] serialize(List<NexmarkSplit> splits) throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(64);
            out.writeInt(splits.size());
            for (NexmarkSplit split : splits) {
                byte[] bytes = one.serialize(split);
                out.writeInt(bytes.length);
                out.write(bytes);
            }
            return out.getCopyOfBuffer();
        }

        @Override
        public List<NexmarkSplit> deserialize(int version, byte[] serialized) throws IOException {
            DataInputDeserializer in = new DataInputDeserializer(serialized);
            int count = in.readInt();
            if (count == 0) {
                return Collections.emptyList();
            }
            List<NexmarkSplit> splits = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                byte[] bytes = new byte[in.readInt()];
                in.readFully(bytes);
                splits.add(one.deserialize(version, bytes));
            }
            return splits;
        }
    }
}
