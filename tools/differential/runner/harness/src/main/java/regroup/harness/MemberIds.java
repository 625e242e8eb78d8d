package regroup.harness;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;

/**
 * Member ids that depend only on group, client and number, in place of the coordinator's random ones.
 *
 * ORDERED: the n-th id (from 1) of a group spreads to n in a hash map, so that Java's and Scala's maps of up to 15
 * members iterate in the order in which the ids were created. SCATTERED: in the order of random ids.
 */
public final class MemberIds {
    public enum Style { ORDERED, SCATTERED }

    private static final int UUID_LENGTH = 36;
    private static final int TAIL_DIGITS = 8;
    private static final HexFormat HEX = HexFormat.of();
    private static final Map<String, String> KNOWN = new HashMap<>();

    private static final Map<String, Integer> numbers = new HashMap<>();
    private static final List<String> made = new ArrayList<>();
    private static Style style = Style.ORDERED;

    private MemberIds() { }

    public static void startOver(Style newStyle) {
        style = newStyle;
        numbers.clear();
        made.clear();
    }

    /** All ids since the start, in the order of their creation. */
    public static List<String> made() {
        return made;
    }

    /** Called from the coordinator's generateMemberId with its own result. */
    public static String instead(String group, String random) {
        String prefix = random.substring(0, random.length() - UUID_LENGTH);
        int number = numbers.merge(group, 1, Integer::sum);
        String id = style == Style.SCATTERED ? scattered(group, prefix, number)
            : KNOWN.computeIfAbsent(number + "/" + group + "/" + prefix, key -> ordered(group, prefix, number));
        made.add(id);
        return id;
    }

    private static String scattered(String group, String prefix, int number) {
        byte[] digest = digest(group + "#" + number);
        return prefix + uuidHead(digest) + HEX.formatHex(digest, 12, 16);
    }

    /** Tries the UUID's last eight digits until the id's hash spreads to its number. */
    private static String ordered(String group, String prefix, int number) {
        String head = prefix + uuidHead(digest(group + "#" + number));
        int headHash = head.hashCode();
        for (int tail = 0; ; tail++) {
            int hash = headHash;
            for (int digit = TAIL_DIGITS - 1; digit >= 0; digit--)
                hash = 31 * hash + Character.forDigit((tail >>> 4 * digit) & 0xF, 16);
            if (((hash ^ hash >>> 16) & 0xFFFF) == number) return head + HEX.toHexDigits(tail);
        }
    }

    /** The first 28 characters of a version 4 UUID. */
    private static String uuidHead(byte[] digest) {
        String hex = HEX.formatHex(digest);
        return String.join("-", hex.substring(0, 8), hex.substring(8, 12), "4" + hex.substring(13, 16),
            "a" + hex.substring(17, 20), hex.substring(20, 24));
    }

    private static byte[] digest(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }
}
