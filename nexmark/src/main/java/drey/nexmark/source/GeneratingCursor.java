package drey.nexmark.source;

import drey.nexmark.generator.EventGenerator;
import drey.nexmark.generator.GeneratorConfig;
import org.apache.flink.table.data.RowData;

/** Makes the events of a split as they are asked for. */
final class GeneratingCursor implements EventCursor {

    private final EventGenerator generator;
    private final long end;
    private final NexmarkSplit split;
    private long position;

    GeneratingCursor(GeneratorConfig config, NexmarkSplit split) {
        this.generator = new EventGenerator(config);
        this.end = config.events();
        this.split = split;
        this.position = split.position();
    }

    @Override
    public RowData next() {
        while (position < end) {
            long event = position++;
            if (split.splits() == 1
                    || EventCursor.owns(
                            split.index(), split.splits(), generator.partition(event))) {
                return generator.next(event);
            }
        }
        return null;
    }

    @Override
    public long position() {
        return position;
    }
}
