package suite;

import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32;

/** Checksums, hash functions, a cipher and random numbers: ints and longs, shifts, rotations, tables, bytes. */
public class Bits {
    private static final int[] TABLE = table();

    public static void main(String[] args) {
        byte[] data = data(1 << 16);
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(60, size); i > 0; i--) {
                int crc = crc(data);
                CRC32 library = new CRC32();
                library.update(data, 0, data.length);
                if (crc != (int) library.getValue()) {
                    throw new IllegalStateException("the checksum is wrong");
                }
                sum = sum * 31 + crc;
                sum = sum * 31 + mix(data, i);
                sum = sum * 31 + cipher(data, i);
                sum = sum * 31 + random(i, 60_000);
            }
            return sum;
        });
    }

    private static byte[] data(int length) {
        Harness.Rng rng = new Harness.Rng(77);
        byte[] data = new byte[length];
        byte[] text = "some text that comes again and again ".getBytes(StandardCharsets.UTF_8);
        for (int i = 0; i < length; i++) {
            data[i] = rng.below(3) == 0 ? (byte) rng.next() : text[i % text.length];
        }
        return data;
    }

    private static int[] table() {
        int[] table = new int[256];
        for (int n = 0; n < 256; n++) {
            int c = n;
            for (int bit = 0; bit < 8; bit++) {
                c = (c & 1) != 0 ? (c >>> 1) ^ 0xEDB88320 : c >>> 1;
            }
            table[n] = c;
        }
        return table;
    }

    private static int crc(byte[] data) {
        int crc = ~0;
        for (byte b : data) {
            crc = TABLE[(crc ^ b) & 0xFF] ^ (crc >>> 8);
        }
        return ~crc;
    }

    /** Words of eight bytes, multiplied, rotated and folded. */
    private static long mix(byte[] data, long seed) {
        long a = seed * 0x9E3779B97F4A7C15L;
        long b = ~a;
        for (int i = 0; i + 8 <= data.length; i += 8) {
            long word = 0;
            for (int j = 7; j >= 0; j--) {
                word = word << 8 | data[i + j] & 0xFF;
            }
            a = Long.rotateLeft(a ^ word * 0xC2B2AE3D27D4EB4FL, 31) * 0x165667B19E3779F9L;
            b = (b + word) ^ (a >>> 17);
            b += Long.numberOfTrailingZeros(word | 1L << 40) + Long.bitCount(a);
        }
        return a ^ Long.reverse(b);
    }

    /** A block cipher of additions, shifts and exclusive ors, 16 rounds. */
    private static long cipher(byte[] data, int key) {
        int[] keys = {key, key * 31, ~key, key ^ 0x55AA55AA};
        long sum = 0;
        for (int i = 0; i + 8 <= data.length; i += 64) {
            int left = data[i] << 24 | (data[i + 1] & 0xFF) << 16 | (data[i + 2] & 0xFF) << 8 | data[i + 3] & 0xFF;
            int right = data[i + 4] << 24 | (data[i + 5] & 0xFF) << 16 | (data[i + 6] & 0xFF) << 8 | data[i + 7] & 0xFF;
            int round = 0;
            for (int n = 0; n < 16; n++) {
                left += ((right << 4 ^ right >>> 5) + right) ^ (round + keys[round & 3]);
                round += 0x3C6EF372;
                right += ((left << 4 ^ left >>> 5) + left) ^ (round + keys[round >>> 11 & 3]);
            }
            sum = sum * 31 + ((long) left << 32 | right & 0xFFFFFFFFL);
        }
        return sum;
    }

    private static long random(long seed, int count) {
        long state = seed;
        long sum = 0;
        for (int i = 0; i < count; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            sum += (state >>> 11) % 1000 + Integer.highestOneBit((int) state) / 3 + Long.numberOfLeadingZeros(state);
        }
        return sum;
    }
}
