// The Java consumer as one of the clients of `kgroup bench`.
//
// Decides: nothing; it does the job of its standard input and answers in lines of JSON, as
// kgroup/bench/clients/__init__.py describes them.
// Never: judges what it found. Needs kafka-clients alone, and is compiled before it is run, since
// a program that is run from its source compiles itself at the cost of what is measured.

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.utils.AppInfoParser;

public final class Consume {
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final Pattern FIELD =
        Pattern.compile("\"(\\w+)\":\\s*(?:\"([^\"]*)\"|([^,}\\s]+))");

    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "org.apache.kafka.clients.consumer.RangeAssignor",
        "roundrobin", "org.apache.kafka.clients.consumer.RoundRobinAssignor",
        "cooperative-sticky", "org.apache.kafka.clients.consumer.CooperativeStickyAssignor");

    private final Map<String, String> job;
    private final CountDownLatch begin = new CountDownLatch(1);
    private volatile boolean over;

    private Consume(Map<String, String> job) {
        this.job = job;
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        Consume client = new Consume(fields(lines.readLine()));
        Thread ear = new Thread(() -> client.listen(lines));
        ear.setDaemon(true);
        ear.start();
        try {
            if (client.job.getOrDefault("hold", "false").equals("true")) {
                Class.forName("org.apache.kafka.clients.consumer.KafkaConsumer");
                System.out.println("{\"ready\":{" + mark() + ",\"import_s\":null}}");
                client.begin.await();
            } else {
                System.out.println("{\"ready\":{" + mark() + ",\"import_s\":null}}");
            }
            System.out.println("{\"result\":" + client.run() + "}");
        } catch (UnsupportedOperationException error) {
            System.out.println("{\"absent\":\"" + error.getMessage() + "\"}");
        } catch (Exception error) {
            String text = error.toString().replaceAll("[\"\\\\\\s]+", " ");
            System.out.println("{\"failed\":\"" + text + "\"}");
        }
    }

    private String run() throws Exception {
        String found = switch (job.get("job")) {
            case "read" -> read();
            case "commit" -> commit();
            case "follow" -> follow();
            default -> throw new UnsupportedOperationException(
                "there is no job " + job.get("job"));
        };
        return "{" + found + ",\"rss_bytes\":" + peakMemory() + ",\"compiled\":null,"
            + "\"versions\":{\"kafka-clients\":\"" + AppInfoParser.getVersion() + "\",\"java\":\""
            + System.getProperty("java.runtime.version") + "\"}}";
    }

    /** Hears what else is said; when standard input ends, nobody is there any more. */
    private void listen(BufferedReader lines) {
        try {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                if (line.contains("\"mark\"")) {
                    System.out.println("{\"mark\":{" + mark() + "}}");
                } else if (line.contains("\"go\"")) {
                    begin.countDown();
                } else if (line.contains("\"stop\"")) {
                    over = true;
                }
            }
        } catch (Exception error) {
            // As if it had ended.
        }
        Runtime.getRuntime().halt(1);
    }

    private String follow() {
        Map<String, String> settings = new HashMap<>();
        if ("consumer".equals(job.get("protocol"))) {
            settings.put("group.remote.assignor", job.get("level"));
        } else {
            settings.put("partition.assignment.strategy", ASSIGNORS.get(job.get("level")));
            settings.put("session.timeout.ms", millis("session_timeout_s"));
            settings.put("heartbeat.interval.ms", millis("heartbeat_interval_s"));
        }
        settings.put("enable.auto.commit", "true");
        settings.put("auto.commit.interval.ms", millis("auto_commit_s"));
        if (job.get("instance") != null && !job.get("instance").equals("null")) {
            settings.put("group.instance.id", job.get("instance"));
        }
        long count = 0;
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(job.get("group"), settings)) {
            while (!over) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(Duration.ofMillis(100));
                if (!batch.isEmpty()) {
                    count += batch.count();
                    tell(batch);
                }
            }
        }
        return "\"records\":" + count;
    }

    private static void tell(ConsumerRecords<byte[], byte[]> batch) {
        Instant now = Instant.now();
        StringBuilder rows = new StringBuilder();
        CRC32 crc = new CRC32();
        for (TopicPartition place : batch.partitions()) {
            long first = -1;
            long after = -1;
            long sum = 0;
            for (ConsumerRecord<byte[], byte[]> record : batch.records(place)) {
                if (record.offset() != after) {
                    row(rows, place.partition(), first, after, sum);
                    first = record.offset();
                    sum = 0;
                }
                after = record.offset() + 1;
                crc.reset();
                crc.update(record.value());
                sum += crc.getValue();
            }
            row(rows, place.partition(), first, after, sum);
        }
        double at = now.getEpochSecond() + now.getNano() / 1e9;
        System.out.println("{\"got\":[" + at + ",[" + rows + "]]}");
    }

    private static void row(StringBuilder rows, int partition, long first, long after, long sum) {
        if (first >= 0) {
            rows.append(rows.isEmpty() ? "" : ",").append("[" + partition + "," + first + ","
                + after + "," + sum + "]");
        }
    }

    private String millis(String field) {
        return Long.toString(Math.round(Double.parseDouble(job.get(field)) * 1000));
    }

    private String read() {
        StringBuilder passes = new StringBuilder();
        for (int number = 0; number < number("passes"); number++) {
            passes.append(number == 0 ? "" : ",").append(pass(job.get("group") + "-" + number));
        }
        return "\"passes\":[" + passes + "]";
    }

    private String pass(String group) {
        String began = mark();
        boolean proof = Boolean.parseBoolean(job.get("proof"));
        long expected = number("records");
        long records = 0;
        long offsets = 0;
        long size = 0;
        long sum = 0;
        double first = -1;
        int firstRecords = 0;
        CRC32 crc = new CRC32();
        double late = seconds() + Double.parseDouble(job.get("limit_s"));
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(group, Map.of())) {
            while (records < expected && seconds() < late) {
                ConsumerRecords<byte[], byte[]> batch = consumer.poll(Duration.ofSeconds(1));
                if (first < 0 && !batch.isEmpty()) {
                    first = seconds();
                    firstRecords = batch.count();
                }
                for (ConsumerRecord<byte[], byte[]> record : batch) {
                    records++;
                    offsets += record.offset();
                    size += record.value().length;
                    if (proof) {
                        crc.reset();
                        crc.update(record.value());
                        sum += crc.getValue();
                    }
                }
            }
            String ended = mark();
            return "{\"began\":{" + began + "},\"first_at\":" + first
                + ",\"first_records\":" + firstRecords + ",\"ended\":{" + ended
                + "},\"seen\":{\"records\":" + records + ",\"offset_sum\":" + offsets
                + ",\"value_bytes\":" + size + ",\"crc_sum\":" + (proof ? sum : null) + "}}";
        }
    }

    private String commit() {
        int warmUp = (int) number("warm_up");
        int count = (int) number("commits");
        double[] times = new double[count];
        double beganAt = 0;
        double beganCpu = 0;
        Map<String, String> single = Map.of("max.poll.records", "1");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(job.get("group"), single)) {
            TopicPartition place = null;
            for (int number = -warmUp; number < count; number++) {
                if (number == 0) {
                    beganAt = seconds();
                    beganCpu = cpu();
                }
                ConsumerRecord<byte[], byte[]> record = one(consumer);
                place = new TopicPartition(record.topic(), record.partition());
                double asked = seconds();
                consumer.commitSync(Map.of(place, new OffsetAndMetadata(record.offset() + 1)));
                if (number >= 0) {
                    times[number] = seconds() - asked;
                }
            }
            double wall = seconds() - beganAt;
            double used = cpu() - beganCpu;
            Arrays.sort(times);
            long committed = consumer.committed(java.util.Set.of(place)).get(place).offset();
            return "\"commits\":" + count + ",\"committed\":" + committed + ",\"cpu_s\":" + used
                + ",\"wall_s\":" + wall + ",\"p50_s\":" + times[count / 2] + ",\"p99_s\":"
                + times[count * 99 / 100] + ",\"max_s\":" + times[count - 1];
        }
    }

    private static ConsumerRecord<byte[], byte[]> one(KafkaConsumer<byte[], byte[]> consumer) {
        while (true) {
            for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofSeconds(1))) {
                return record;
            }
        }
    }

    private KafkaConsumer<byte[], byte[]> consumer(String group, Map<String, String> more) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", job.get("bootstrap"));
        settings.put("group.id", group);
        settings.put("group.protocol", job.getOrDefault("protocol", "classic"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", "false");
        settings.put("key.deserializer", ByteArrayDeserializer.class.getName());
        settings.put("value.deserializer", ByteArrayDeserializer.class.getName());
        settings.putAll(more);
        KafkaConsumer<byte[], byte[]> made = new KafkaConsumer<>(settings);
        String slow = job.getOrDefault("slow_revoke_s", "0");
        made.subscribe(List.of(job.get("topic")), new ConsumerRebalanceListener() {
            @Override public void onPartitionsAssigned(Collection<TopicPartition> places) { }

            @Override public void onPartitionsRevoked(Collection<TopicPartition> places) {
                try {
                    Thread.sleep(Math.round(Double.parseDouble(slow) * 1000));
                } catch (InterruptedException error) {
                    Thread.currentThread().interrupt();
                }
            }
        });
        return made;
    }

    private long number(String field) {
        return Long.parseLong(job.get(field));
    }

    /** Linux's System.nanoTime is the monotonic clock that the parent reads, too. */
    private static double seconds() {
        return System.nanoTime() / 1e9;
    }

    private static double cpu() {
        return SYSTEM.getProcessCpuTime() / 1e9;
    }

    private static String mark() {
        return "\"at\":" + seconds() + ",\"cpu_s\":" + cpu();
    }

    private static long peakMemory() throws Exception {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                return Long.parseLong(line.replaceAll("\\D", "")) * 1024;
            }
        }
        return 0;
    }

    private static Map<String, String> fields(String line) {
        Map<String, String> found = new HashMap<>();
        Matcher matcher = FIELD.matcher(line);
        while (matcher.find()) {
            found.put(matcher.group(1), matcher.group(2) != null ? matcher.group(2)
                : matcher.group(3));
        }
        return found;
    }
}
