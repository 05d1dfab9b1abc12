// vm: -XX:CompileThreshold=100
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.HexFormat;
import java.util.Random;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;

/** Checksums and digests of arrays and buffers of all lengths, from all offsets on, often enough to be compiled. */
public class HotChecksums {
    private static final Random RANDOM = new Random(32);
    private static final int[] CRC32 = table(0xedb88320);
    private static final int[] CRC32C = table(0x82f63b78);

    public static void main(String[] args) throws Exception {
        for (int length = 0; length < 300; length++) {
            check(bytes(length + length % 13), length % 13, length);
        }
        // In several parts, while objects move.
        for (int round = 0; round < 40; round++) {
            check(bytes(150_000 + round), round, 150_000);
        }
        for (String name : new String[] {"MD5", "SHA-1", "SHA-224", "SHA-256", "SHA-384", "SHA-512", "SHA-512/256"}) {
            System.out.println(name + " " + digests(MessageDigest.getInstance(name)));
        }
        outside();
    }

    private static void check(byte[] bytes, int from, int length) {
        check(new CRC32(), CRC32, bytes, from, length);
        check(new CRC32C(), CRC32C, bytes, from, length);
    }

    private static void check(Checksum sum, int[] table, byte[] bytes, int from, int length) {
        long expected = slowly(table, bytes, from, length);
        int middle = from + length / 3;
        sum.update(bytes, from, middle - from);
        sum.update(bytes, middle, length - (middle - from));
        equal(expected, sum.getValue(), sum);
        sum.reset();
        sum.update(ByteBuffer.wrap(bytes, from, length));
        equal(expected, sum.getValue(), sum);
        sum.reset();
        ByteBuffer direct = ByteBuffer.allocateDirect(bytes.length);
        direct.put(bytes).limit(from + length).position(from);
        sum.update(direct);
        equal(expected, sum.getValue(), sum);
        if (length < 1000) {
            sum.reset();
            for (int i = from; i < from + length; i++) {
                sum.update(bytes[i]);
            }
            equal(expected, sum.getValue(), sum);
        }
    }

    private static void equal(long expected, long found, Checksum sum) {
        if (expected != found) {
            throw new IllegalStateException(sum.getClass() + ": " + found + ", not " + expected);
        }
    }

    private static long slowly(int[] table, byte[] bytes, int from, int length) {
        int sum = ~0;
        for (int i = from; i < from + length; i++) {
            sum = table[(sum ^ bytes[i]) & 0xff] ^ sum >>> 8;
        }
        return ~sum & 0xffffffffL;
    }

    private static int[] table(int polynomial) {
        int[] table = new int[256];
        for (int i = 0; i < 256; i++) {
            int sum = i;
            for (int bit = 0; bit < 8; bit++) {
                sum = sum >>> 1 ^ ((sum & 1) == 1 ? polynomial : 0);
            }
            table[i] = sum;
        }
        return table;
    }

    /** The digest of digests of all lengths. */
    private static String digests(MessageDigest digest) throws Exception {
        byte[] all = new byte[digest.getDigestLength()];
        for (int length = 0; length < 400; length++) {
            byte[] bytes = bytes(length * 3 + 7);
            digest.update(bytes, length % 7, length * 3);
            MessageDigest other = (MessageDigest) digest.clone();
            digest.update(all);
            all = digest.digest();
            other.update(ByteBuffer.wrap(bytes));
            all[length % all.length] ^= other.digest()[0];
        }
        return HexFormat.of().formatHex(all);
    }

    private static void outside() {
        byte[] bytes = new byte[100];
        for (int round = 0; round < 300; round++) {
            for (Checksum sum : new Checksum[] {new CRC32(), new CRC32C()}) {
                int length = round % 3 == 0 ? -1 : 101 - round % 50;
                try {
                    sum.update(bytes, round % 50, length);
                    throw new IllegalStateException("bytes outside of the array");
                } catch (ArrayIndexOutOfBoundsException expected) {
                    equal(0, sum.getValue(), sum);
                }
                try {
                    sum.update(null, 0, 0);
                    throw new IllegalStateException("no array");
                } catch (NullPointerException expected) {
                    equal(0, sum.getValue(), sum);
                }
            }
        }
    }

    private static byte[] bytes(int length) {
        byte[] bytes = new byte[length];
        RANDOM.nextBytes(bytes);
        return bytes;
    }
}
