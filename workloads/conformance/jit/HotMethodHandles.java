// vm: -XX:CompileThreshold=100
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/** Method handles and variable handles that call one method for long, and then another one; concatenations. */
public class HotMethodHandles {
    private static final MethodHandles.Lookup LOOKUP = MethodHandles.lookup();
    private static final VarHandle LONGS =
        MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final VarHandle INTS = MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle SHORTS =
        MethodHandles.byteArrayViewVarHandle(short[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle BUFFER =
        MethodHandles.byteBufferViewVarHandle(char[].class, ByteOrder.LITTLE_ENDIAN);

    private int added;

    public static void main(String[] args) throws Throwable {
        System.out.println(views());
        System.out.println(targets());
        System.out.println(receivers());
        System.out.println(combined());
        System.out.println(thrown());
        System.out.println(concatenations());
        System.out.println(classes());
    }

    private static long views() {
        byte[] bytes = new byte[67];
        ByteBuffer buffer = ByteBuffer.wrap(bytes);
        VarHandle[] longs = {LONGS, MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN)};
        long sum = 0;
        for (int i = 0; i < 4000; i++) {
            INTS.set(bytes, i % 60, i * 0x9e3779b9);
            SHORTS.set(bytes, i % 65, (short) (i * 77));
            sum = sum * 31 + (long) LONGS.get(bytes, i % 59) + (short) SHORTS.get(bytes, i % 63);
            sum = sum * 31 + (int) INTS.get(bytes, i % 61) + (char) BUFFER.get(buffer, i % 66);
            // The other order, once the first one is compiled.
            sum = sum * 31 + (long) longs[i / 3000].get(bytes, i % 57);
            longs[1 - i / 3000].set(bytes, i % 58, sum);
            sum += buffer.getLong(i % 51) + (buffer.putInt(i % 55, i).getDouble(3) > 0 ? 1 : 0);
        }
        return sum + outside(bytes);
    }

    private static int outside(byte[] bytes) {
        int caught = 0;
        for (int i = 0; i < 300; i++) {
            try {
                caught += (int) (long) LONGS.get(bytes, i % 2 == 0 ? -1 : 60 + i % 9) & 0;
            } catch (IndexOutOfBoundsException expected) {
                caught++;
            }
            try {
                caught += (int) (long) LONGS.get((byte[]) null, 0) & 0;
            } catch (NullPointerException expected) {
                caught += 2;
            }
        }
        return caught;
    }

    private static int twice(int x) {
        return 2 * x;
    }

    private static int square(int x) {
        return x * x;
    }

    private static boolean isOdd(int x) {
        return (x & 1) == 1;
    }

    private static void note(List<Object> to, byte what) {
        to.add(what);
    }

    private static long targets() throws Throwable {
        MethodType type = MethodType.methodType(int.class, int.class);
        MethodHandle twice = LOOKUP.findStatic(HotMethodHandles.class, "twice", type);
        MethodHandle square = LOOKUP.findStatic(HotMethodHandles.class, "square", type);
        MethodHandle isOdd = LOOKUP.findStatic(HotMethodHandles.class, "isOdd", type.changeReturnType(boolean.class));
        MethodHandle note = LOOKUP.findStatic(
            HotMethodHandles.class, "note", MethodType.methodType(void.class, List.class, byte.class));
        List<Object> noted = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < 6000; i++) {
            MethodHandle handle = i < 3000 || i % 7 == 0 ? twice : square;
            sum = sum * 31 + (int) handle.invokeExact(i);
            sum += (boolean) isOdd.invokeExact(i) ? 1 : 0;
            note.invokeExact((List<Object>) noted, (byte) i);
        }
        return sum * 31 + noted.hashCode();
    }

    private int add(int x) {
        return added += x;
    }

    private static int receivers() throws Throwable {
        MethodHandle add =
            LOOKUP.findVirtual(HotMethodHandles.class, "add", MethodType.methodType(int.class, int.class));
        MethodHandle length =
            LOOKUP.findVirtual(CharSequence.class, "length", MethodType.methodType(int.class));
        HotMethodHandles object = new HotMethodHandles();
        CharSequence[] texts = {"one", new StringBuilder("three"), "\u0434\u0432\u0430"};
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum = sum * 31 + (int) add.invokeExact(object, i);
            sum = sum * 31 + (int) length.invokeExact(texts[i < 2000 ? 0 : i % 3]);
            try {
                HotMethodHandles receiver = i % 100 == 99 ? null : object;
                sum += (int) add.invokeExact(receiver, 1);
            } catch (NullPointerException expected) {
                sum++;
            }
        }
        return sum;
    }

    private static int combined() throws Throwable {
        MethodType type = MethodType.methodType(int.class, int.class);
        MethodHandle twice = LOOKUP.findStatic(HotMethodHandles.class, "twice", type);
        MethodHandle square = LOOKUP.findStatic(HotMethodHandles.class, "square", type);
        MethodHandle isOdd = LOOKUP.findStatic(HotMethodHandles.class, "isOdd", type.changeReturnType(boolean.class));
        MethodHandle guarded = MethodHandles.guardWithTest(isOdd, twice, square);
        MethodHandle all = MethodHandles.filterReturnValue(guarded, twice);
        MethodHandle boxed = all.asType(MethodType.genericMethodType(1));
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum = sum * 31 + (int) all.invokeExact(i) + (int) boxed.invoke((Object) i);
            sum += (int) MethodHandles.insertArguments(square, 0, i).invokeExact();
        }
        return sum;
    }

    private static int fail(int x) {
        if (x % 3 == 0) {
            throw new IllegalArgumentException("a third");
        }
        return new int[] {x}[x % 50 == 1 ? 1 : 0];
    }

    private static int thrown() throws Throwable {
        MethodHandle fail =
            LOOKUP.findStatic(HotMethodHandles.class, "fail", MethodType.methodType(int.class, int.class));
        int sum = 0;
        for (int i = 0; i < 2000; i++) {
            try {
                sum = sum * 31 + (int) fail.invokeExact(i);
            } catch (IllegalArgumentException | ArrayIndexOutOfBoundsException expected) {
                StackTraceElement[] trace = expected.getStackTrace();
                sum += trace.length * 100 + trace[0].getLineNumber() + expected.getMessage().length();
            }
        }
        return sum;
    }

    private static int concatenations() {
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            Object object = i % 5 == 0 ? null : i % 3 == 0 ? "object" : Integer.valueOf(i);
            String wide = i % 2 == 0 ? "\u0448\u0438\u0440" : "narrow";
            sum = sum * 31 + ("a" + i + "b" + i * 3L).hashCode() + (wide + ":" + object).hashCode();
            sum = sum * 31 + (object + wide + (char) i + (i > 7) + (byte) i + i * 0.5 + i * 0.25f).hashCode();
            sum = sum * 31 + ("" + object).hashCode() + (wide + wide).hashCode() + (i + "").length();
        }
        return sum;
    }

    private static int classes() {
        Class<?>[] all = {int.class, String.class, int[].class, List.class, Object[].class, void.class};
        Object[] objects = {null, "text", new int[1], new ArrayList<Object>(), new String[2], 7};
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            Class<?> type = all[i % 6];
            sum = sum * 3 + (type.isPrimitive() ? 1 : 0) + (type.isArray() ? 2 : 0) + (type.isInterface() ? 4 : 0);
            sum = sum * 3 + (type.isInstance(objects[i / 6 % 6]) ? 1 : 0);
        }
        return sum;
    }
}
