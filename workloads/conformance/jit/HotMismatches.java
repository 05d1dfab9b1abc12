// vm: -XX:CompileThreshold=100
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.DoubleBuffer;
import java.nio.FloatBuffer;
import java.nio.IntBuffer;
import java.nio.LongBuffer;
import java.nio.ShortBuffer;
import java.util.Arrays;

/** Where arrays and buffers of all kinds and lengths differ first, in the heap and outside, often enough to be compiled. */
public class HotMismatches {
    private static final String[] KINDS = {"byte", "short", "char", "int", "float", "long", "double"};
    private static final int[] BYTES = {1, 2, 2, 4, 4, 8, 8};

    public static void main(String[] args) {
        for (int round = 0; round < 20; round++) {
            for (int kind = 0; kind < KINDS.length; kind++) {
                long sum = 0;
                for (int length = 0; length < 20; length++) {
                    for (int at = 0; at <= length; at++) {
                        for (int where = 0; where < 4; where++) {
                            sum = sum * 31 + compared(kind, length, at, (where & 1) != 0, (where & 2) != 0);
                        }
                    }
                }
                if (round == 0 || round == 19) {
                    System.out.println(KINDS[kind] + " " + sum);
                }
            }
        }
        arrays();
    }

    /** Two buffers that differ at this element, or nowhere. */
    private static int compared(int kind, int length, int at, boolean isOutside, boolean isOtherOutside) {
        Buffer a = buffer(kind, length, length, isOutside);
        Buffer b = buffer(kind, length, at, isOtherOutside);
        int found = mismatch(kind, a, b);
        int expected = at < length ? at : -1;
        if (found != expected || a.equals(b) != (expected < 0)) {
            throw new IllegalStateException(KINDS[kind] + " of " + length + ": " + found + ", not " + expected + ", "
                    + a.equals(b) + " " + isOutside + " " + isOtherOutside);
        }
        return found;
    }

    private static Buffer buffer(int kind, int length, int at, boolean isOutside) {
        int bytes = length * BYTES[kind];
        ByteBuffer of = isOutside ? ByteBuffer.allocateDirect(bytes) : ByteBuffer.allocate(bytes);
        of.order(ByteOrder.nativeOrder());
        for (int i = 0; i < bytes; i++) {
            of.put(i, (byte) (i % 7));
        }
        if (at < length) {
            of.put(at * BYTES[kind], (byte) 100);
        }
        return switch (kind) {
            case 0 -> of;
            case 1 -> of.asShortBuffer();
            case 2 -> of.asCharBuffer();
            case 3 -> of.asIntBuffer();
            case 4 -> of.asFloatBuffer();
            case 5 -> of.asLongBuffer();
            default -> of.asDoubleBuffer();
        };
    }

    private static int mismatch(int kind, Buffer a, Buffer b) {
        return switch (kind) {
            case 0 -> ((ByteBuffer) a).mismatch((ByteBuffer) b);
            case 1 -> ((ShortBuffer) a).mismatch((ShortBuffer) b);
            case 2 -> ((CharBuffer) a).mismatch((CharBuffer) b);
            case 3 -> ((IntBuffer) a).mismatch((IntBuffer) b);
            case 4 -> ((FloatBuffer) a).mismatch((FloatBuffer) b);
            case 5 -> ((LongBuffer) a).mismatch((LongBuffer) b);
            default -> ((DoubleBuffer) a).mismatch((DoubleBuffer) b);
        };
    }

    private static void arrays() {
        long sum = 0;
        for (int round = 0; round < 400; round++) {
            int length = round % 37;
            long[] longs = new long[length];
            double[] doubles = new double[length];
            for (int at = 0; at < length; at++) {
                long[] other = longs.clone();
                other[at] = Long.MIN_VALUE;
                double[] others = doubles.clone();
                others[at] = -0.0;
                sum = sum * 31 + Arrays.mismatch(longs, other) + Arrays.mismatch(doubles, others)
                        + Arrays.compare(longs, other) + Arrays.compare(doubles, others)
                        + (Arrays.equals(longs, other) || Arrays.equals(doubles, others) ? 1000 : 0);
            }
        }
        System.out.println(sum);
    }
}
