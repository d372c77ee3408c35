package stallkit.tools;

import java.nio.file.*;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Puts files into a topic of four partitions, a message each, as the demo and the checks do: BROKER TOPIC FOLDER. */
public final class Produce {
    public static void main(String[] arguments) throws Exception {
        Map<String, Object> broker = Map.of("bootstrap.servers", arguments[0], "max.request.size", 64 << 20, "buffer.memory", 96L << 20);
        try (Admin admin = Admin.create(broker)) {
            if (!admin.listTopics().names().get().contains(arguments[1]))
                admin.createTopics(List.of(new NewTopic(arguments[1], 4, (short) 1).configs(Map.of("max.message.bytes", "67108864")))).all().get();
        }
        try (var producer = new KafkaProducer<>(broker, new ByteArraySerializer(), new ByteArraySerializer());
             var files = Files.list(Path.of(arguments[2]))) {
            for (Path file : files.sorted().toList()) producer.send(new ProducerRecord<>(arguments[1], Files.readAllBytes(file))).get();
        }
    }
}
