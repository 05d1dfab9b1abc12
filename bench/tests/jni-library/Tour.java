import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.Arrays;

/** Goes through the functions of JNI, with tour.c; prints what native code saw and did. */
public class Tour {
    interface Shape {
        default String name() { return "shape"; }
        double area();
    }

    static class Square implements Shape {
        final double side;
        Square(double side) { this.side = side; }
        public double area() { return side * side; }
    }

    static class Odd extends Square {
        Odd() { super(10); }
        public double area() { return -1; }
        private int secret() { return 42; }
    }

    /** Initialized by native code that is given a member of it. */
    static class Late {
        static { System.out.println("Late is initialized"); }
        static int field = 5;
        static int method() { return 6; }
    }

    static class Later {
        static { System.out.println("Later is initialized"); }
        static int method() { return 7; }
    }

    static class Base {
        native int inherited(int value);
    }

    static class Derived extends Base {
    }

    int i = 1;
    long j = 2;
    float f = 3.5f;
    double d = 4.25;
    boolean z = true;
    byte b = -5;
    char c = 'x';
    short s = -7;
    volatile long v = 9;
    String text = "field";
    static int si = 11;
    static Object so = "static";

    static native double everything(boolean z, byte b, char c, short s, int i, long j, float f,
        double d, Object o, int[] a, double d2, float f2, long j2, int i2, int i3, double d3,
        double d4, double d5, double d6, double d7, double d8, float f3);
    static native boolean narrowBoolean(int value);
    static native byte narrowByte(int value);
    static native char narrowChar(int value);
    static native short narrowShort(int value);
    static native float sum(float a, double b);
    native String fields();
    static native String calls(Tour tour, Object square, Object odd);
    static native String arrays(int[] ints, byte[] bytes, double[] doubles, Object[] objects);
    static native String strings(String text);
    static native String exceptions(Runnable thrower);
    static native String references(Object object);
    static native String monitors(Object object);
    static native String reflection(Method method, Field field, Constructor<?> constructor);
    static native String late(Field field, Method method);
    static native String malformed();
    static native String buffers(ByteBuffer buffer);
    static native Object[] many(int count);
    static native String attach();
    static native String attachWithoutName();
    static native void fail(String message);
    static native void register();
    static native void registerInherited(Class<?> derived);
    static native void leaveAtTheEnd();
    static native int registered(int value);
    static native int missing(int value, String[] text);

    static String join(boolean z, byte b, char c, short s, int i, long j, float f, double d,
            String text, double d2, double d3, double d4, double d5, double d6, double d7,
            double d8, double d9) {
        return z + " " + b + " " + c + " " + s + " " + i + " " + j + " " + f + " " + d + " " + text
            + " " + d2 + " " + d3 + " " + d4 + " " + d5 + " " + d6 + " " + d7 + " " + d8 + " " + d9;
    }

    String mix(int a, long b, double c, float d) { return a + " " + b + " " + c + " " + d + " " + i; }
    boolean yes() { return true; }
    static boolean same(boolean z) { return z; }
    byte aByte() { return -3; }
    char aChar() { return 'q'; }
    short aShort() { return -300; }
    int anInt() { return -70000; }
    long aLong() { return 1L << 40; }
    static float aFloat() { return 1.5f; }
    static int calledBack;
    static void callBack(int value) { calledBack += value; }
    static void thrower() { throw new IllegalStateException("in an attached thread"); }

    public static void main(String[] args) throws Exception {
        System.load(args[0]);
        leaveAtTheEnd();
        System.out.println(everything(true, (byte) -1, 'A', (short) -2, -3, -4L, 5.5f, 6.5, "o",
            new int[] {7, 8}, 9.5, 10.5f, 11L, 12, 13, 14.5, 15.5, 16.5, 17.5, 18.5, 19.5, 20.5f));
        System.out.println(narrowBoolean(0x100) + " " + narrowBoolean(0x101) + " " + narrowByte(0x1ff)
            + " " + (int) narrowChar(-1) + " " + narrowShort(0x18000) + " " + sum(1.25f, 2.5));
        Tour tour = new Tour();
        System.out.println(tour.fields());
        System.out.println(tour.i + " " + tour.j + " " + tour.f + " " + tour.d + " " + tour.z + " "
            + tour.b + " " + tour.c + " " + tour.s + " " + tour.v + " " + tour.text + " " + si + so);
        System.out.println(calls(tour, new Square(3), new Odd()));
        int[] ints = {1, 2, 3};
        byte[] bytes = {1, 2, 3, 4};
        double[] doubles = {1.5, 2.5};
        Object[] objects = {"a", null, "c"};
        System.out.println(arrays(ints, bytes, doubles, objects));
        System.out.println(Arrays.toString(ints) + Arrays.toString(bytes) + Arrays.toString(doubles)
            + Arrays.toString(objects));
        System.out.println(strings("h\u00e9llo \u20ac \ud83d\ude00\0end"));
        String malformed = malformed();
        malformed.chars().forEach(unit -> System.out.print(Integer.toHexString(unit) + " "));
        System.out.println();
        System.out.println(exceptions(() -> { throw new RuntimeException("from Java"); }));
        System.out.println(references(new Object() { public String toString() { return "it"; } }));
        Object lock = new Object();
        System.out.println(monitors(lock) + Thread.holdsLock(lock));
        System.out.println(reflection(Tour.class.getDeclaredMethod("anInt"),
            Tour.class.getDeclaredField("d"), Tour.class.getDeclaredConstructor()));
        System.out.println(late(Late.class.getDeclaredField("field"), Later.class.getDeclaredMethod("method")));
        System.out.println(buffers(ByteBuffer.allocateDirect(16)));
        Object[] many = many(20_000);
        System.out.println(many.length + " " + many[19_999]);
        System.out.println(attach() + " " + calledBack);
        System.out.println(attachWithoutName());
        unlinked();
        register();
        registerInherited(Derived.class);
        System.out.println(new Derived().inherited(21) + " " + new Base().inherited(22));
        System.out.println(registered(20));
        try {
            fail("boo");
        } catch (IllegalArgumentException e) {
            System.out.println(e + " " + e.getStackTrace()[0]);
        }
    }

    static void unlinked() {
        try {
            registered(1);
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        try {
            missing(1, null);
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        try {
            System.load("/nonexistent/lib.so");
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
    }
}
