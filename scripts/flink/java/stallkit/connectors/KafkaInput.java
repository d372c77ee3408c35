package stallkit.connectors;

import java.io.*;
import org.apache.flink.api.common.eventtime.WatermarkStrategy;
import org.apache.flink.api.common.typeinfo.TypeInformation;
import org.apache.flink.connector.kafka.source.KafkaSource;
import org.apache.flink.connector.kafka.source.enumerator.initializer.OffsetsInitializer;
import org.apache.flink.connector.kafka.source.reader.deserializer.KafkaRecordDeserializationSchema;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.util.*;
import org.apache.kafka.clients.consumer.*;
import stallkit.*;

/** Reads the messages of a topic; each is a batch, as a file is. A job that continues from a checkpoint reads on from the positions in it; another
 *  job begins at the group's offsets at the broker, or at the start. */
public final class KafkaInput implements KafkaRecordDeserializationSchema<Block> {
    /** --kafka: brokers; --topic; --group; --follow: read on after the last message that was there at the start. */
    public static DataStream<Block> read(StreamExecutionEnvironment env, ParameterTool options) {
        var source = KafkaSource.<Block>builder()
            .setBootstrapServers(options.get("kafka")).setTopics(options.get("topic", "stalls")).setGroupId(options.get("group", "stallkit"))
            .setStartingOffsets(OffsetsInitializer.committedOffsets(OffsetResetStrategy.EARLIEST)).setDeserializer(new KafkaInput());
        if (!options.has("follow")) source.setBounded(OffsetsInitializer.latest());
        return env.fromSource(source.build(), WatermarkStrategy.noWatermarks(), "kafka", Block.TYPE).uid("kafka");
    }

    @Override public void deserialize(ConsumerRecord<byte[], byte[]> message, Collector<Block> out) throws IOException {
        if (message.value() == null) return;
        String source = message.topic() + "-" + message.partition() + "@" + message.offset();
        try (BlockReader blocks = new BlockReader(new ByteArrayInputStream(message.value()), source)) {
            for (Block block; (block = blocks.next()) != null;) out.collect(block);
        }
    }

    @Override public TypeInformation<Block> getProducedType() { return Block.TYPE; }
}
