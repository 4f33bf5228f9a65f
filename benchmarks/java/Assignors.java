// The leader of the Java client, part by part: a worker of `python -m benchmarks.assignors`.
//
// Decides: nothing; each part calls what the consumer's coordinator calls.
// Never: judges. It reads one JSON document per line and answers with one, as the workers in
// Python do. Run from source: java -cp "<folder of jars>/*" Assignors.java
// Needs kafka-clients and jackson-databind, which are among the jars of a Kafka broker.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.zip.CRC32;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.CooperativeStickyAssignor;
import org.apache.kafka.clients.consumer.RangeAssignor;
import org.apache.kafka.clients.consumer.RoundRobinAssignor;
import org.apache.kafka.clients.consumer.StickyAssignor;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.AppInfoParser;

public final class Assignors {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final OperatingSystemMXBean SYSTEM =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    private static final String[] NAMES = {"range", "roundrobin", "sticky", "cooperative-sticky"};

    // The scenario.
    private String[] topics;
    private int[] starts; // per topic, the number of its first partition among all
    private final Map<String, Integer> startOf = new HashMap<>();
    private int[][] subscriptions;
    private String[] memberIds;
    private int[] memberKinds;
    private int generationId;
    private Cluster cluster;

    // The run.
    private ConsumerPartitionAssignor assignor;
    private int leaver;
    private ByteBuffer[] joined; // null for the member that left
    private Map<String, Subscription> members;
    private Map<String, Assignment> assignment;

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // nobody's print may look like an answer
        BufferedReader questions =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8), 1 << 20);
        Assignors worker = new Assignors();
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            ObjectNode answer;
            try {
                answer = worker.answer(JSON.readTree(line));
            } catch (Exception | OutOfMemoryError failure) {
                answer = JSON.createObjectNode().put("failed", failure.toString());
            }
            answers.println(JSON.writeValueAsString(answer));
        }
    }

    private ObjectNode answer(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        switch (question.get("do").asText()) {
            case "hello":
                ObjectNode versions = answer.putObject("versions");
                versions.put("kafka-clients", AppInfoParser.getVersion());
                versions.put("java", System.getProperty("java.vm.version"));
                ArrayNode names = answer.putArray("assignors");
                for (String name : NAMES) {
                    names.add(name);
                }
                break;
            case "load":
                load(question.get("scenario"));
                break;
            case "begin":
                leaver = question.get("leaver").asInt(-1);
                begin(question.get("assignor").asText(), question.get("previous"));
                break;
            case "read":
                timed(answer, this::read);
                break;
            case "assign":
                timed(answer, this::assign);
                break;
            case "encode":
                encode(answer);
                break;
            case "result":
                result(answer);
                break;
            default:
                throw new IllegalArgumentException("unknown question");
        }
        return answer;
    }

    /** Times one call; what was left by the one before is cleared away first. */
    private static void timed(ObjectNode answer, Runnable act) {
        System.gc();
        measure(answer, act);
    }

    private static void measure(ObjectNode answer, Runnable act) {
        long cpu = SYSTEM.getProcessCpuTime();
        long began = System.nanoTime();
        act.run();
        answer.put("seconds", (System.nanoTime() - began) / 1e9);
        answer.put("cpu", (SYSTEM.getProcessCpuTime() - cpu) / 1e9);
    }

    private void load(JsonNode scenario) {
        generationId = scenario.get("generation").asInt();
        int count = scenario.get("topics").size();
        topics = new String[count];
        starts = new int[count + 1];
        startOf.clear();
        Node node = new Node(1, "broker.example", 9092);
        Node[] nodes = {node};
        List<PartitionInfo> partitions = new ArrayList<>();
        for (int topic = 0; topic < count; topic++) {
            topics[topic] = scenario.get("topics").get(topic).get(0).asText();
            int size = scenario.get("topics").get(topic).get(1).asInt();
            startOf.put(topics[topic], starts[topic]);
            starts[topic + 1] = starts[topic] + size;
            for (int number = 0; number < size; number++) {
                partitions.add(new PartitionInfo(topics[topic], number, node, nodes, nodes));
            }
        }
        cluster = new Cluster("benchmark", List.of(node), partitions,
            Collections.emptySet(), Collections.emptySet());
        JsonNode kinds = scenario.get("subscriptions");
        subscriptions = new int[kinds.size()][];
        for (int kind = 0; kind < subscriptions.length; kind++) {
            subscriptions[kind] = numbers(kinds.get(kind));
        }
        JsonNode listed = scenario.get("members");
        memberIds = new String[listed.size()];
        memberKinds = new int[listed.size()];
        for (int place = 0; place < memberIds.length; place++) {
            memberIds[place] = listed.get(place).get(0).asText();
            memberKinds[place] = listed.get(place).get(1).asInt();
        }
    }

    /** Writes each member's subscription as the coordinator of that member does. */
    private void begin(String name, JsonNode previous) {
        assignor = make(name);
        joined = new ByteBuffer[memberIds.length];
        boolean cooperative = name.equals("cooperative-sticky");
        for (int place = 0; place < memberIds.length; place++) {
            if (place == leaver) {
                continue;
            }
            ConsumerPartitionAssignor own = make(name);
            List<TopicPartition> held = new ArrayList<>();
            if (!previous.isNull()) {
                held = partitions(numbers(previous.get(place)));
                own.onAssignment(new Assignment(held), new ConsumerGroupMetadata(
                    "benchmark", generationId, memberIds[place], Optional.empty()));
            }
            List<String> names = new ArrayList<>();
            for (int topic : subscriptions[memberKinds[place]]) {
                names.add(topics[topic]);
            }
            ByteBuffer userData = own.subscriptionUserData(new HashSet<>(names));
            joined[place] = ConsumerProtocol.serializeSubscription(new Subscription(
                names, userData, cooperative ? held : Collections.emptyList(),
                previous.isNull() ? -1 : generationId, Optional.empty()));
        }
    }

    private void read() {
        members = new HashMap<>();
        for (int place = 0; place < memberIds.length; place++) {
            if (joined[place] != null) {
                members.put(memberIds[place],
                    ConsumerProtocol.deserializeSubscription(joined[place].duplicate()));
            }
        }
    }

    private void assign() {
        assignment = assignor.assign(cluster, new GroupSubscription(members)).groupAssignment();
    }

    private void encode(ObjectNode answer) {
        Map<String, ByteBuffer> written = new LinkedHashMap<>();
        measure(answer, () -> {
            for (Map.Entry<String, Assignment> entry : assignment.entrySet()) {
                written.put(entry.getKey(), ConsumerProtocol.serializeAssignment(entry.getValue()));
            }
        });
        CRC32 digest = new CRC32();
        long bytes = 0;
        for (String memberId : memberIds) {
            ByteBuffer data = written.get(memberId);
            if (data != null) {
                bytes += data.remaining();
                digest.update(data.duplicate());
            }
        }
        answer.put("digest", digest.getValue()).put("bytes", bytes);
    }

    /** Gives the assignment as numbers; what is held back for the next round nobody is told. */
    private void result(ObjectNode answer) {
        ArrayNode given = answer.putArray("given");
        for (String memberId : memberIds) {
            ArrayNode mine = given.addArray();
            Assignment found = assignment.get(memberId);
            if (found != null) {
                for (TopicPartition each : found.partitions()) {
                    mine.add(startOf.get(each.topic()) + each.partition());
                }
            }
        }
        if (assignor instanceof CooperativeStickyAssignor) {
            answer.putNull("withheld");
        } else {
            answer.putArray("withheld");
        }
    }

    private List<TopicPartition> partitions(int[] numbers) {
        List<TopicPartition> found = new ArrayList<>(numbers.length);
        for (int number : numbers) {
            int topic = java.util.Arrays.binarySearch(starts, number);
            topic = topic >= 0 ? topic : -topic - 2;
            found.add(new TopicPartition(topics[topic], number - starts[topic]));
        }
        return found;
    }

    private static int[] numbers(JsonNode array) {
        int[] found = new int[array.size()];
        for (int place = 0; place < found.length; place++) {
            found[place] = array.get(place).asInt();
        }
        return found;
    }

    private static ConsumerPartitionAssignor make(String name) {
        switch (name) {
            case "range":
                return new RangeAssignor();
            case "roundrobin":
                return new RoundRobinAssignor();
            case "sticky":
                return new StickyAssignor();
            default:
                return new CooperativeStickyAssignor();
        }
    }
}
