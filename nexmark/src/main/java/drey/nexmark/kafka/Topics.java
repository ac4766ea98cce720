package drey.nexmark.kafka;

import drey.nexmark.digest.ChangelogDigest;
import drey.nexmark.digest.RowHasher;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import org.apache.flink.types.RowKind;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Topics of one broker: made, filled by Flink, and read back. */
public final class Topics implements AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final String address;
    private final Admin admin;

    public Topics(String address) {
        this.address = address;
        admin = Admin.create(Map.of("bootstrap.servers", address));
    }

    public boolean exists(String topic) throws ExecutionException, InterruptedException {
        return admin.listTopics().names().get().contains(topic);
    }

    public void create(String topic, int partitions)
            throws ExecutionException, InterruptedException {
        admin.createTopics(List.of(new NewTopic(topic, partitions, (short) 1))).all().get();
    }

    public void delete(String topic) throws ExecutionException, InterruptedException {
        admin.deleteTopics(List.of(topic)).all().get();
    }

    /**
     * What a changelog written to a topic comes to, as far as its transactions were committed. A record without a value is a
     * deletion, as upsert-kafka writes it.
     *
     * @param keyed whether records have the key of a table, so that one replaces the one before it
     */
    public ChangelogDigest digest(String topic, ChangelogDigest.Sameness sameness, boolean keyed) {
        ChangelogDigest digest = new ChangelogDigest(sameness);
        Map<String, Object> settings =
                Map.of(
                        "bootstrap.servers",
                        address,
                        "isolation.level",
                        "read_committed",
                        "key.deserializer",
                        ByteArrayDeserializer.class,
                        "value.deserializer",
                        ByteArrayDeserializer.class);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(settings)) {
            List<TopicPartition> partitions =
                    consumer.partitionsFor(topic).stream()
                            .map(info -> new TopicPartition(topic, info.partition()))
                            .toList();
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (ends.entrySet().stream()
                    .anyMatch(end -> consumer.position(end.getKey()) < end.getValue())) {
                boolean some = false;
                for (ConsumerRecord<byte[], byte[]> record :
                        consumer.poll(Duration.ofMillis(200))) {
                    add(digest, record, keyed);
                    some = true;
                }
                if (some) {
                    deadline = System.nanoTime() + PATIENCE.toNanos();
                } else if (System.nanoTime() > deadline) {
                    throw new IllegalStateException(
                            "topic %s can't be read to its end: a transaction is open"
                                    .formatted(topic));
                }
            }
        }
        return digest;
    }

    private static void add(
            ChangelogDigest digest, ConsumerRecord<byte[], byte[]> record, boolean keyed) {
        long key = hash(record.key());
        long row = hash(record.value());
        if (keyed) {
            RowKind kind = record.value() == null ? RowKind.DELETE : RowKind.UPDATE_AFTER;
            digest.applyKeyed(kind, key, record.value() == null ? key : row);
        } else {
            digest.apply(RowKind.INSERT, key, row);
        }
    }

    private static long hash(byte[] bytes) {
        if (bytes == null) {
            return 0;
        }
        long hash = bytes.length;
        for (byte b : bytes) {
            hash = RowHasher.mix(hash ^ (b & 0xff), 0x9E3779B97F4A7C15L) + 1;
        }
        return hash;
    }

    /** How many records each partition of a topic has, by partition. */
    public long[] sizes(String topic) throws ExecutionException, InterruptedException {
        int partitions =
                admin.describeTopics(List.of(topic))
                        .allTopicNames()
                        .get()
                        .get(topic)
                        .partitions()
                        .size();
        Map<TopicPartition, OffsetSpec> latest = new HashMap<>();
        for (int i = 0; i < partitions; i++) {
            latest.put(new TopicPartition(topic, i), OffsetSpec.latest());
        }
        long[] sizes = new long[partitions];
        for (var end : admin.listOffsets(latest).all().get().entrySet()) {
            sizes[end.getKey().partition()] = end.getValue().offset();
        }
        return sizes;
    }

    @Override
    public void close() {
        admin.close(Duration.ofSeconds(5));
    }
}
