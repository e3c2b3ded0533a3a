// tests/kafka/streams/Totals.java - clicks and cost per ad, computed by Kafka Streams.
// Usage: java -cp LIB/* Totals.java BROKERS TOPIC OUT RECORDS STATE
// Prints one JSON object an ad: {"ad_id":…,"clicks":…,"cost_micros":…}. It re-keys by ad_id through
// a repartition topic, as a user of Kafka Streams would.
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;

public class Totals {
    private static final ObjectMapper JSON = new ObjectMapper();

    private static JsonNode parse(String value) {
        try {
            return JSON.readTree(value);
        } catch (Exception e) {
            throw new IllegalArgumentException("not JSON: " + value, e);
        }
    }

    // The accumulator as text, "clicks,micros": plain strings need no serde of our own.
    private static String add(String total, long micros) {
        String[] parts = total.split(",");
        long clicks = Long.parseLong(parts[0]) + 1;
        return clicks + "," + Math.addExact(Long.parseLong(parts[1]), micros);
    }

    public static void main(String[] args) throws Exception {
        long wanted = Long.parseLong(args[3]);
        Properties conf = new Properties();
        conf.put(StreamsConfig.APPLICATION_ID_CONFIG, args[2]);
        conf.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, args[0]);
        conf.put(StreamsConfig.STATE_DIR_CONFIG, args[4]);
        conf.put(StreamsConfig.REPLICATION_FACTOR_CONFIG, 1);
        conf.put("auto.offset.reset", "earliest");

        Map<String, String> totals = new TreeMap<>();
        AtomicLong counted = new AtomicLong();
        CountDownLatch done = new CountDownLatch(1);
        var strings = Serdes.String();
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(args[1], Consumed.with(strings, strings))
            .map((key, value) -> {
                JsonNode click = parse(value);
                return org.apache.kafka.streams.KeyValue.pair(
                    click.get("ad_id").asText(), click.get("cost_micros").asText());
            })
            .groupByKey(Grouped.with(strings, strings))
            .aggregate(() -> "0,0", (ad, micros, total) -> {
                String next = add(total, Long.parseLong(micros));
                synchronized (totals) {
                    totals.put(ad, next);
                }
                if (counted.incrementAndGet() == wanted) done.countDown();
                return next;
            }, Materialized.with(strings, strings));

        try (KafkaStreams streams = new KafkaStreams(builder.build(), conf)) {
            streams.start();
            if (!done.await(120, TimeUnit.SECONDS)) {
                System.err.println("only " + counted.get() + " of " + wanted + " records");
                System.exit(1);
            }
            streams.close(Duration.ofSeconds(20));
        }
        for (var entry : totals.entrySet()) {
            String[] parts = entry.getValue().split(",");
            System.out.printf("{\"ad_id\":%s,\"clicks\":%s,\"cost_micros\":%s}%n",
                JSON.writeValueAsString(entry.getKey()), parts[0], parts[1]);
        }
    }
}
