import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.coordinator.group.generated.GroupMetadataValue;

/**
 * Times Kafka's own reader of group metadata values.
 *
 * Arguments: a file of values, each after its length; the number of passes; "members" to also
 * read subscriptions and assignments. Prints the number of members and the thread's CPU
 * nanoseconds, one line per pass.
 */
public final class KafkaReader {
    public static void main(String[] args) throws Exception {
        List<byte[]> values = values(Path.of(args[0]));
        boolean inner = args.length > 2 && args[2].equals("members");
        ThreadMXBean thread = ManagementFactory.getThreadMXBean();
        for (int pass = 0; pass < Integer.parseInt(args[1]); pass++) {
            long start = thread.getCurrentThreadCpuTime();
            long members = inner ? readWithMembers(values) : read(values);
            System.out.println(members + " " + (thread.getCurrentThreadCpuTime() - start));
        }
    }

    private static List<byte[]> values(Path file) throws Exception {
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(file));
        List<byte[]> values = new ArrayList<>();
        while (bytes.hasRemaining()) {
            byte[] value = new byte[bytes.getInt()];
            bytes.get(value);
            values.add(value);
        }
        return values;
    }

    private static GroupMetadataValue read(byte[] value) {
        ByteBuffer buffer = ByteBuffer.wrap(value);
        short version = buffer.getShort();
        return new GroupMetadataValue(new ByteBufferAccessor(buffer), version);
    }

    private static long read(List<byte[]> values) {
        long members = 0;
        for (byte[] value : values) members += read(value).members().size();
        return members;
    }

    private static long readWithMembers(List<byte[]> values) {
        long members = 0;
        long partitions = 0;
        for (byte[] value : values) {
            for (GroupMetadataValue.MemberMetadata member : read(value).members()) {
                members++;
                partitions += ConsumerProtocol
                    .deserializeSubscription(ByteBuffer.wrap(member.subscription()))
                    .ownedPartitions().size();
                partitions += ConsumerProtocol
                    .deserializeAssignment(ByteBuffer.wrap(member.assignment()))
                    .partitions().size();
            }
        }
        if (partitions < 0) throw new AssertionError();  // uses the result, so that the JIT compiler keeps the loop
        return members;
    }
}
