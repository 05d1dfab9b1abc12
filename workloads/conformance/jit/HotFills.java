// vm: -XX:CompileThreshold=300
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.Arrays;

/** Arrays.fill of all types and of parts, short and long; comparisons of arrays; Reference.refersTo. */
public class HotFills {
    static final int ROUNDS = 5_000;

    public static void main(String[] args) {
        System.out.println(fills());
        refused("end", new int[40], 3, 41);
        refused("beginning", new int[40], -1, 3);
        refused("order", new int[40], 5, 4);
        refused("null", null, 0, 1);
        System.out.println(comparisons());
        System.out.println(referents());
    }

    static long fills() {
        int[] ints = new int[4096];
        byte[] bytes = new byte[1001];
        char[] chars = new char[777];
        short[] shorts = new short[99];
        long[] longs = new long[333];
        float[] floats = new float[555];
        double[] doubles = new double[444];
        boolean[] booleans = new boolean[121];
        int[] many = new int[100_000];
        Object[] objects = new Object[9];
        long hash = 0;
        for (int i = 0; i < ROUNDS; i++) {
            Arrays.fill(ints, i);
            Arrays.fill(ints, 5, 1000, -i);
            hash = hash * 31 + ints[0] + ints[4] + ints[5] * 3L + ints[999] * 5L + ints[1000] * 7L + ints[4095];
            Arrays.fill(bytes, (byte) i);
            Arrays.fill(bytes, i % 1000, i % 1000 + 1, (byte) (i * 3));
            hash = hash * 31 + bytes[0] + bytes[i % 1000] * 3L + bytes[1000];
            Arrays.fill(chars, (char) i);
            Arrays.fill(chars, 3, 3, 'x');
            Arrays.fill(shorts, (short) (i * 7));
            Arrays.fill(shorts, 98, 99, (short) -i);
            hash = hash * 31 + chars[3] + chars[776] + shorts[97] + shorts[98];
            Arrays.fill(longs, i * 0x123456789L);
            Arrays.fill(longs, 1, 9, -i);
            Arrays.fill(floats, i * 0.5f);
            Arrays.fill(floats, 2, 4, -0.0f);
            Arrays.fill(doubles, i * 0.25);
            Arrays.fill(doubles, 0, 444, Double.NaN);
            hash = hash * 31 + longs[0] + longs[8] + longs[332] + (long) floats[554] + Float.floatToRawIntBits(floats[3]);
            hash = hash * 31 + Double.doubleToRawLongBits(doubles[443]);
            Arrays.fill(booleans, (i & 1) == 0);
            Arrays.fill(booleans, 3, 9, i % 3 == 0);
            hash = hash * 31 + (booleans[120] ? 1 : 2) + (booleans[8] ? 3 : 5);
            Arrays.fill(objects, i % 2 == 0 ? "a" : null);
            hash += objects[8] == null ? 1 : 2;
            if (i % 50 == 0) {
                Arrays.fill(many, i);
                Arrays.fill(many, 1, 99_999, -i);
                hash = hash * 31 + many[0] + many[1] + many[99_998] + many[99_999];
            }
        }
        return hash + Arrays.hashCode(ints) + Arrays.hashCode(many);
    }

    static void refused(String name, int[] array, int from, int end) {
        String last = "";
        for (int i = 0; i < ROUNDS; i++) {
            try {
                Arrays.fill(array, from, end, i);
                last = "filled";
            } catch (RuntimeException e) {
                last = e.getClass().getName();
            }
        }
        System.out.println(name + ": " + last + (array == null ? "" : " " + Arrays.stream(array).sum()));
    }

    static long comparisons() {
        long hash = 0;
        for (int i = 0; i < ROUNDS; i++) {
            byte[] one = new byte[i % 200];
            Arrays.fill(one, (byte) i);
            byte[] other = one.clone();
            if (i % 2 == 0 && one.length > 0) {
                other[i % one.length] ^= 1;
            }
            hash = hash * 31 + Arrays.mismatch(one, other) + Arrays.compare(one, other);
            hash = hash * 31 + (Arrays.equals(one, other) ? 1 : 0) + new String(one, 0).compareTo(new String(other, 0));
        }
        return hash;
    }

    static int referents() {
        Object kept = new Object();
        Object other = new Object();
        WeakReference<Object> weak = new WeakReference<>(kept);
        SoftReference<Object> soft = new SoftReference<>(kept);
        PhantomReference<Object> phantom = new PhantomReference<>(kept, new ReferenceQueue<>());
        int count = 0;
        for (int i = 0; i < ROUNDS; i++) {
            count += (weak.refersTo(kept) ? 1 : 0) + (soft.refersTo(kept) ? 1 : 0) + (phantom.refersTo(kept) ? 1 : 0);
            count += (weak.refersTo(other) ? 1000 : 0) + (weak.refersTo(null) ? 100_000 : 0);
            if (i == ROUNDS - 2) {
                weak.clear();
            }
        }
        return count;
    }
}
