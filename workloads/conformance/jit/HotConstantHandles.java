// vm: -XX:CompileThreshold=1000
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.invoke.WrongMethodTypeException;
import java.nio.ByteOrder;

/**
 * Method handles and VarHandles in static final fields, which compiled code takes for constants: access modes, results
 * that are dropped or cast, and accesses that must fail or leave compiled code, each long after that was made.
 */
public class HotConstantHandles {
    static final int ROUNDS = 30_000;

    static final VarHandle INT;
    static final VarHandle LONG;
    static final VarHandle NEXT;
    static final VarHandle TEXT;
    static final VarHandle ANY;
    static final VarHandle SHARED;
    static final VarHandle FINAL;
    static final VarHandle FLAG;
    static final VarHandle RATIO;
    static final VarHandle EXACT;
    static final VarHandle OBJECTS = MethodHandles.arrayElementVarHandle(Object[].class);
    static final VarHandle STRINGS = MethodHandles.arrayElementVarHandle(String[].class);
    static final VarHandle BYTES = MethodHandles.arrayElementVarHandle(byte[].class);
    static final VarHandle VIEW = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    static final VarHandle NONE = null;
    static final MethodHandle ADD;
    static final MethodHandle LENGTH;
    static final MethodHandle OVERRIDDEN;
    static final MethodHandle MAKE;
    static final MethodHandle GET;
    static final MethodHandle CHOICE;
    static final MethodHandle BOUND;
    static final MethodHandle LATE;
    static final MethodHandle NARROW;
    static final MethodHandle COPY;
    static final MethodHandle NO_HANDLE = null;

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            INT = lookup.findVarHandle(Node.class, "number", int.class);
            LONG = lookup.findVarHandle(Node.class, "large", long.class);
            NEXT = lookup.findVarHandle(Node.class, "next", Node.class);
            TEXT = lookup.findVarHandle(Node.class, "text", String.class);
            ANY = lookup.findVarHandle(Node.class, "any", Object.class);
            SHARED = lookup.findStaticVarHandle(Node.class, "shared", int.class);
            FINAL = lookup.findVarHandle(Node.class, "fixed", int.class);
            FLAG = lookup.findVarHandle(Node.class, "flag", boolean.class);
            RATIO = lookup.findVarHandle(Node.class, "ratio", double.class);
            EXACT = INT.withInvokeExactBehavior();
            ADD = lookup.findStatic(HotConstantHandles.class, "add", type(int.class, int.class, int.class));
            LENGTH = lookup.findVirtual(String.class, "length", type(int.class));
            OVERRIDDEN = lookup.findVirtual(Node.class, "kind", type(String.class));
            MAKE = lookup.findConstructor(Node.class, type(void.class, int.class));
            GET = lookup.findGetter(Node.class, "number", int.class);
            CHOICE = MethodHandles.guardWithTest(
                lookup.findStatic(HotConstantHandles.class, "isEven", type(boolean.class, int.class)),
                lookup.findStatic(HotConstantHandles.class, "half", type(int.class, int.class)),
                lookup.findStatic(HotConstantHandles.class, "triple", type(int.class, int.class)));
            BOUND = MethodHandles.insertArguments(ADD, 0, 100);
            LATE = lookup.findStatic(Late.class, "next", type(int.class));
            COPY = lookup.findStatic(System.class, "arraycopy",
                type(void.class, Object.class, int.class, Object.class, int.class, int.class));
            NARROW = lookup.findStatic(HotConstantHandles.class, "narrow", type(byte.class, int.class));
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    static MethodType type(Class<?> result, Class<?>... parameters) {
        return MethodType.methodType(result, parameters);
    }

    static int add(int a, int b) {
        return a + b;
    }

    static boolean isEven(int x) {
        return (x & 1) == 0;
    }

    static int half(int x) {
        return x / 2;
    }

    static int triple(int x) {
        return x * 3;
    }

    static byte narrow(int x) {
        return (byte) x;
    }

    static class Node {
        static volatile int shared;
        final int fixed = 17;
        volatile int number;
        volatile long large;
        volatile Node next;
        volatile String text;
        volatile Object any;
        volatile boolean flag;
        volatile double ratio;

        Node() {
        }

        Node(int number) {
            this.number = number;
        }

        String kind() {
            return "node";
        }
    }

    static class Leaf extends Node {
        @Override
        String kind() {
            return "leaf";
        }
    }

    /** Initialized by the first call of its method, long after the handle was made. */
    static class Late {
        static int count;

        static {
            System.out.println("Late is initialized");
            count = 1000;
        }

        static int next() {
            return count++;
        }
    }

    interface Attempt {
        Object run() throws Throwable;
    }

    /** The result of code that fails, or does not; with the class of what it throws. */
    static void expect(String name, Attempt attempt) {
        Object first = outcome(attempt);
        Object last = first;
        for (int i = 0; i < ROUNDS / 10; i++) {
            last = outcome(attempt);
        }
        System.out.println(name + ": " + first + (first.equals(last) ? "" : ", then " + last));
    }

    static Object outcome(Attempt attempt) {
        try {
            return String.valueOf(attempt.run());
        } catch (Throwable e) {
            return e.getClass().getName();
        }
    }

    public static void main(String[] args) throws Throwable {
        dropped();
        numbers();
        references();
        arrays();
        handles();
        failures();
        copies();
    }

    static void numbers() {
        Node node = new Leaf();
        long sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            INT.set(node, i);
            sum += (int) INT.get(node);
            INT.setVolatile(node, i + 1);
            sum += (int) INT.getVolatile(node);
            INT.setRelease(node, i + 2);
            sum += (int) INT.getAcquire(node);
            INT.setOpaque(node, i + 3);
            sum += (int) INT.getOpaque(node);
            sum += INT.compareAndSet(node, i + 3, i) ? 1 : 1000;
            sum += INT.compareAndSet(node, i + 3, i) ? 1000 : 1;
            sum += (int) INT.compareAndExchange(node, i, i + 1);
            sum += (int) INT.compareAndExchangeAcquire(node, i, i + 1);
            sum += (int) INT.compareAndExchangeRelease(node, i + 1, i + 2);
            while (!INT.weakCompareAndSetPlain(node, i + 2, i)) {
            }
            while (!INT.weakCompareAndSetAcquire(node, i, i + 1)) {
            }
            while (!INT.weakCompareAndSetRelease(node, i + 1, i)) {
            }
            sum += (int) INT.getAndSet(node, i + 5);
            sum += (int) INT.getAndSetAcquire(node, i + 6);
            sum += (int) INT.getAndSetRelease(node, i + 7);
            sum += (int) INT.getAndAdd(node, 3);
            sum += (int) INT.getAndAddAcquire(node, 3);
            sum += (int) INT.getAndAddRelease(node, 3);
            sum += (int) INT.getAndBitwiseOr(node, 1);
            sum += (int) INT.getAndBitwiseAnd(node, 0xffff);
            sum += (int) INT.getAndBitwiseXor(node, 0x1234);
            // The result is dropped.
            INT.getAndAdd(node, 7);
            INT.compareAndSet(node, 0, 1);
            sum += node.number;
            LONG.set(node, sum);
            LONG.getAndAdd(node, 5L);
            sum ^= (long) LONG.getVolatile(node);
            // Types that have to be adapted.
            LONG.set(node, i);
            sum += (long) LONG.get(node) + (long) (int) INT.get((Object) node);
            sum += (int) FINAL.get(node);
            SHARED.setRelease(i);
            sum += (int) SHARED.getAndAdd(1) + (int) SHARED.getAcquire();
            FLAG.setRelease(node, (i & 1) == 0);
            sum += (boolean) FLAG.getAcquire(node) ? 2 : 3;
            sum += FLAG.compareAndSet(node, true, false) ? 5 : 7;
            sum += (boolean) FLAG.getAndBitwiseOr(node, true) ? 11 : 13;
            RATIO.setVolatile(node, i * 0.5);
            sum += (long) (double) RATIO.getAndAdd(node, 1.5) + (long) (double) RATIO.getOpaque(node);
        }
        System.out.println("numbers " + sum);
    }

    static void references() {
        Node first = new Node(1);
        Node second = new Leaf();
        Object[] results = new Object[4];
        long sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            NEXT.set(first, second);
            sum += ((Node) NEXT.getAcquire(first)).kind().length();
            Node next = (Node) NEXT.getAndSet(first, null);
            sum += next == second ? 1 : 1000;
            sum += NEXT.compareAndSet(first, null, first) ? 1 : 1000;
            // The site's type is above, and below, that of the field.
            Object any = NEXT.getVolatile(first);
            sum += any == first ? 1 : 1000;
            NEXT.setRelease(first, second);
            Leaf leaf = (Leaf) NEXT.get(first);
            sum += leaf.kind().length();
            sum += (Node) NEXT.compareAndExchange(first, second, null) == second ? 1 : 1000;
            sum += (Node) NEXT.get(first) == null ? 1 : 1000;
            TEXT.setVolatile(first, "text" + (i & 7));
            sum += ((String) TEXT.get(first)).length();
            sum += ((CharSequence) TEXT.getOpaque(first)).charAt(4);
            results[i & 3] = TEXT.getAndSet(first, "");
            ANY.set(first, i % 3 == 0 ? "string" : (Object) i);
            Object held = ANY.get(first);
            sum += held instanceof String ? ((String) ANY.getAcquire(first)).length() : 0;
        }
        System.out.println("references " + sum + " " + results[2]);
    }

    static void arrays() {
        Object[] objects = new Object[8];
        String[] strings = new String[8];
        byte[] bytes = new byte[64];
        long sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            OBJECTS.setRelease(objects, i & 7, bytes);
            sum += OBJECTS.getAcquire(objects, i & 7) == bytes ? 1 : 1000;
            OBJECTS.setVolatile((Object[]) strings, i & 7, "element");
            sum += ((String) STRINGS.getVolatile(strings, i & 7)).length();
            sum += STRINGS.compareAndSet(strings, i & 7, "element", null) ? 1 : 1000;
            BYTES.setOpaque(bytes, i & 63, (byte) i);
            sum += BYTES.compareAndSet(bytes, i & 63, (byte) i, (byte) 5) ? bytes[i & 63] : 1000;
            VIEW.set(bytes, i & 31, (long) i << 32 | i);
            sum += (long) VIEW.get(bytes, i & 31) + bytes[(i & 31) + 7];
        }
        System.out.println("arrays " + sum);
    }

    static void handles() throws Throwable {
        Node node = new Node(5);
        Node leaf = new Leaf();
        long sum = 0;
        for (int i = 0; i < ROUNDS; i++) {
            sum += (int) ADD.invokeExact(i, 3);
            sum += (long) ADD.invoke(i, (short) 3);
            sum += (int) LENGTH.invokeExact("length");
            Node receiver = (i & 1) == 0 ? node : leaf;
            sum += ((String) OVERRIDDEN.invokeExact(receiver)).charAt(0);
            Node made = (Node) MAKE.invokeExact(i);
            sum += made.number + (int) GET.invokeExact(made);
            sum += (int) CHOICE.invokeExact(i);
            sum += (int) BOUND.invokeExact(i);
            sum += (byte) NARROW.invokeExact(i);
            if (i > ROUNDS / 2) {
                sum += (int) LATE.invokeExact();
            }
            // The result is dropped.
            CHOICE.invoke(i);
        }
        System.out.println("handles " + sum);
    }

    /** Arrays of another class lead out of code that drops what an accessor returns, and a collection comes then. */
    static void dropped() {
        Object[] objects = new Object[4];
        for (int i = 0; i < ROUNDS; i++) {
            swap(objects, i, objects);
        }
        String[] strings = new String[4];
        String last = null;
        for (int i = 0; i < 200; i++) {
            last = swap(strings, i, "kept" + i);
        }
        System.out.println("dropped " + last + " " + strings[3] + " " + objects[1].getClass());
    }

    static String swap(Object[] array, int i, Object value) {
        OBJECTS.getAndSet(array, i & 3, value);
        return String.join(" ", made(i), collected(i));
    }

    static String made(int i) {
        return "left" + i;
    }

    static String collected(int i) {
        if (i % 50 == 7) {
            System.gc();
        }
        return "right" + i;
    }

    /** A copy that compiled code leaves to the interpreter, by a handle. */
    static void copies() throws Throwable {
        int[] from = {1, 2, 3, 4, 5, 6, 7, 8};
        int[] to = new int[8];
        for (int i = 0; i < ROUNDS; i++) {
            copy(from, i & 3, to, 0, 4);
        }
        String outcome = "done";
        try {
            copy(from, 5, to, 0, 4);
        } catch (RuntimeException e) {
            outcome = "refused";
        }
        System.out.println("copies " + outcome + " " + to[0] + to[3] + to[4]);
    }

    static void copy(Object from, int start, Object to, int at, int count) throws Throwable {
        COPY.invokeExact(from, start, to, at, count);
    }

    static void failures() {
        Node node = new Node();
        Node null1 = null;
        Object[] strings = new String[4];
        byte[] bytes = new byte[16];
        expect("no receiver", () -> (int) INT.getVolatile(null1));
        expect("another receiver", () -> (int) INT.get((Object) "text"));
        expect("no such mode", () -> {
            FINAL.set(node, 1);
            return "set";
        });
        expect("no such mode of references", () -> NEXT.getAndBitwiseOr(node, node));
        expect("another value", () -> {
            NEXT.set(node, (Object) "text");
            return "set";
        });
        expect("another number", () -> {
            INT.set(node, 1L);
            return "set";
        });
        expect("too few arguments", () -> (int) INT.get());
        expect("another result", () -> {
            ANY.set(node, 7);
            return (String) ANY.get(node);
        });
        expect("another result, after the effect", () -> {
            ANY.set(node, 8);
            try {
                return (String) ANY.getAndSet(node, "new");
            } catch (ClassCastException e) {
                return "ClassCastException, then " + node.any;
            }
        });
        expect("exact", () -> (int) EXACT.get(node));
        expect("not exact", () -> (long) (int) EXACT.get((Object) node));
        expect("index", () -> OBJECTS.getVolatile(strings, 4));
        expect("negative index", () -> (long) VIEW.get(bytes, -1));
        expect("index of a view", () -> (long) VIEW.get(bytes, 9));
        expect("element of another class", () -> {
            OBJECTS.set(strings, 0, (Object) 1);
            return "set";
        });
        expect("array of another class", () -> STRINGS.get((Object) new Object[1], 0));
        expect("no VarHandle", () -> (int) NONE.get(node));
        expect("no method handle", () -> (int) NO_HANDLE.invokeExact(1));
        expect("another type", () -> (int) ADD.invokeExact(1, 2L));
        expect("another result type", () -> (long) ADD.invokeExact(1, 2));
        expect("no string", () -> (int) LENGTH.invokeExact((String) null));
        if (!(outcome(() -> (int) ADD.invokeExact(1, 2L)).equals(WrongMethodTypeException.class.getName()))) {
            throw new AssertionError();
        }
    }
}
