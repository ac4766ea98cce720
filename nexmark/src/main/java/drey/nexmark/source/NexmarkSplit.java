package drey.nexmark.source;

import java.io.IOException;
import org.apache.flink.api.connector.source.SourceSplit;
import org.apache.flink.core.io.SimpleVersionedSerializer;
import org.apache.flink.core.memory.DataInputDeserializer;
import org.apache.flink.core.memory.DataOutputSerializer;

/**
 * A part of the events: those of auctions and persons that hash to {@code index} of {@code splits}, from event
 * {@code position} on. All events of an auction are in one split, in order, and all splits pass through event time side by
 * side; so neither a query by auction nor a watermark sees a difference between one split and many.
 */
public record NexmarkSplit(int index, int splits, long position) implements SourceSplit {

    @Override
    public String splitId() {
        return index + "/" + splits;
    }

    NexmarkSplit at(long newPosition) {
        return new NexmarkSplit(index, splits, newPosition);
    }

    static final class Serializer implements SimpleVersionedSerializer<NexmarkSplit> {

        @Override
        public int getVersion() {
            return 1;
        }

        @Override
        public byte[] serialize(NexmarkSplit split) throws IOException {
            DataOutputSerializer out = new DataOutputSerializer(16);
            out.writeInt(split.index());
            out.writeInt(split.splits());
            out.writeLong(split.position());
            return out.getCopyOfBuffer();
        }

        @Override
        public NexmarkSplit deserialize(int version, byte[] serialized) throws IOException {
            if (version != 1) {
                throw new IOException("nexmark split of unknown version " + version);
            }
            DataInputDeserializer in = new DataInputDeserializer(serialized);
            return new NexmarkSplit(in.readInt(), in.readInt(), in.readLong());
        }
    }
}
