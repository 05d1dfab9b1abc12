// vm: -Xbatch -XX:CompileThreshold=200

import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MutableCallSite;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.function.IntSupplier;

/**
 * Final fields, static or not, in code that is compiled. Their values may be put into the code or kept over calls,
 * but not before they are set: not while a class is being initialized, nor in a constructor; not where another method
 * of the class sets it after all, as class files of old versions may; and kept references must follow moved objects.
 */
public class Finals {
    static int bumps;

    static int bump() {
        return ++bumps;
    }

    // None of these is a constant of the class file.
    static class Statics {
        static final boolean YES = bump() > 0;
        static final boolean NO = bump() < 0;
        static final byte BYTE = (byte) (200 + bump());
        static final char CHAR = (char) (65000 + bump());
        static final short SHORT = (short) (-300 + bump());
        static final int INT = Integer.MIN_VALUE + bump();
        static final long LONG = Long.MIN_VALUE + bump();
        static final float FLOAT = 1.5f * bump();
        static final double DOUBLE = -0.0 * bump();
        static final Object NULL = bump() > 0 ? null : "no";
        static final int[] NUMBERS = new int[bump()];
        static final StringBuilder TEXT = new StringBuilder("text");
        static int plain = bump();

        static String all(int i) {
            String s = YES ? "yes" : "no";
            if (NO) {
                s += "?";
            }
            if (NULL != null) {
                s += "!";
            }
            int small = BYTE + CHAR + SHORT;
            NUMBERS[i % NUMBERS.length] += 1;
            plain++;
            return s + small + " " + INT + " " + LONG + " " + FLOAT + " " + (1 / DOUBLE) + " " + NUMBERS.length
                + " " + TEXT.length();
        }
    }

    /** Its methods run, compiled, while it is being initialized. */
    static class Early {
        static final int FIRST;
        static final int[] SECOND;
        static final long SEEN;

        static {
            long before = 0;
            for (int i = 0; i < 1000; i++) {
                before += first() + (second() == null ? 1 : 100);
            }
            FIRST = bump() * 0 + 7;
            for (int i = 0; i < 1000; i++) {
                before += first() + (second() == null ? 1 : 100);
            }
            SECOND = new int[FIRST];
            for (int i = 0; i < 1000; i++) {
                before += first() + second().length;
            }
            SEEN = before;
        }

        static int first() {
            return FIRST;
        }

        static int[] second() {
            return SECOND;
        }
    }

    /** Fails to initialize after its final was read. */
    static class Failing {
        static final int VALUE;

        static {
            VALUE = bump() * 0 + 3;
            if (value() == 3) {
                throw new IllegalStateException("on purpose");
            }
        }

        static int value() {
            return VALUE;
        }
    }

    /** Inner instances keep the outer one; the outer one is garbage but for them. */
    final class Inner {
        final int number;

        Inner(int number) {
            this.number = number + base;
        }

        int sum(List<Integer> list) {
            int sum = 0;
            for (int i = 0; i < list.size(); i++) {
                sum += list.get(i) * base + garbage(i) + base;
            }
            return sum;
        }
    }

    int base = 3;

    static int garbage(int i) {
        byte[][] made = new byte[8][];
        for (int j = 0; j < made.length; j++) {
            made[j] = new byte[64 + i % 7];
        }
        return made[i & 7].length - 64 - i % 7;
    }

    static long iterate(List<Integer> list) {
        long sum = 0;
        for (Integer number : list) {
            sum = sum * 31 + number + garbage(number);
        }
        return sum;
    }

    static long removing(List<Integer> from) {
        long sum = 0;
        for (Iterator<Integer> all = from.iterator(); all.hasNext(); ) {
            int number = all.next();
            sum += garbage(number);
            if (number % 3 == 0) {
                all.remove();
            } else {
                sum += number;
            }
        }
        return sum + from.size();
    }

    static long entries(Map<String, List<Integer>> map) {
        long sum = 0;
        for (Map.Entry<String, List<Integer>> entry : map.entrySet()) {
            for (int number : entry.getValue()) {
                sum += number * (long) entry.getKey().length() + garbage(number);
            }
        }
        return sum;
    }

    static long captured(int[] numbers, String text) {
        IntSupplier supplier = () -> numbers.length + text.length() + garbage(numbers[0]);
        long sum = 0;
        for (int i = 0; i < 50; i++) {
            sum += supplier.getAsInt();
            numbers[0] = i;
        }
        return sum;
    }

    /** The same field, of another object, is set in the loop. */
    static long others(List<List<Integer>> lists) {
        long sum = 0;
        Iterator<List<Integer>> outer = lists.iterator();
        while (outer.hasNext()) {
            Iterator<Integer> inner = outer.next().iterator();
            Iterator<Integer> again = lists.get(0).iterator();
            while (inner.hasNext() && again.hasNext()) {
                sum = sum * 7 + inner.next() - again.next() + garbage(1);
            }
        }
        return sum;
    }

    static class Shape {
        int area() {
            return 1;
        }
    }

    static class Square extends Shape {
        final int side;

        Square(int side) {
            this.side = side;
        }

        @Override
        int area() {
            return side * side;
        }
    }

    /** The class of an object that was made in this method is known, until something else is in the same local. */
    static int areas(int i, Shape given) {
        Shape shape = new Square(i);
        int sum = shape.area() + garbage(i) + shape.area();
        if (i % 5 == 0) {
            shape = given;
        }
        sum += shape.area();
        Object[] made = i % 2 == 0 ? new Object[1] : new String[1];
        try {
            made[0] = shape;
        } catch (ArrayStoreException e) {
            sum += 1000;
        }
        Object text = i % 3 == 0 ? "text" : new StringBuilder();
        return sum + (text instanceof String ? 1 : 0) + (shape instanceof Square ? 10 : 0);
    }

    static class Circle extends Shape {
        int radius() {
            return 7;
        }
    }

    static class Growing extends Shape {
        int size;

        /** Where a circle has its radius. */
        void grow() {
            size++;
        }
    }

    /** Calls of methods that the known class lacks are never reached, but they have to be translated. */
    static int neither(Shape shape) {
        if (shape instanceof Circle) {
            return ((Circle) shape).radius();
        }
        return shape.area() + (shape instanceof Square ? ((Square) shape).side : 0);
    }

    static int ofKnown(int i) {
        return neither(new Growing()) + neither(new Square(i)) + neither(new Circle());
    }

    /** On one of two ways the class was seen, and always the same. */
    static int sometimes(Shape shape, boolean asks) {
        int sum = 0;
        if (asks) {
            sum += shape.area();
        } else {
            sum -= 2;
        }
        return sum + shape.area();
    }

    /** Its fields are kept over calls that move what they refer to. */
    static class Pair implements java.io.Serializable {
        final int[] first;
        final Pair second;
        int plain;

        Pair(int[] first, Pair second) {
            this.first = first;
            this.second = second;
        }

        long walk(int rounds) {
            long sum = 0;
            for (int i = 0; i < rounds; i++) {
                sum = sum * 31 + first[i & 3] + second.first[i & 3] + garbage(i);
                first[i & 3] += i;
                plain += second.first.length;
                sum += second.second == null ? plain : second.second.first[0];
            }
            return sum;
        }
    }

    /** Methods that its constructor calls see the field before it is set, and after. */
    static class Leaking extends Shape {
        final int[] late;
        final int early;
        int seen;

        Leaking(int i) {
            early = i;
            seen = look();
            late = new int[i & 7];
            seen = seen * 100 + look();
        }

        int look() {
            int before = late == null ? 50 : late.length;
            garbage(early);
            return before + (late == null ? 20 : late.length) + early % 3;
        }
    }

    /** Not inlined, because it locks. */
    static synchronized void assign(java.lang.reflect.Field field, Object to, Object value) throws Exception {
        field.set(to, value);
    }

    /** Reads its field before and after other code may have set it by reflection. */
    static class Reflected {
        final Object value;

        Reflected(Object value) {
            this.value = value;
        }

        boolean sees(java.lang.reflect.Field field, Object next) throws Exception {
            Object before = value;
            assign(field, this, next);
            return value == next && before != next;
        }

        Object both(int i) {
            Object first = value;
            garbage(i);
            return first == value ? first : null;
        }
    }

    /** Reflection that was made before the code, and reflection that comes after it. */
    static String reflected() throws Exception {
        Reflected late = new Reflected("constructor");
        int same = 0;
        for (int i = 0; i < 2000; i++) {
            same += late.both(i) == "constructor" ? 1 : 0;
        }
        java.lang.reflect.Field field = Reflected.class.getDeclaredField("value");
        field.setAccessible(true);
        field.set(late, "reflection");
        String now = " " + late.both(1);
        for (int i = 0; i < 4000; i++) {
            same += new Reflected("a").sees(field, "b") ? 1 : 0;
        }
        return same + now;
    }

    static Pair copy(Pair pair) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new java.io.ObjectOutputStream(bytes).writeObject(pair);
        return (Pair) new java.io.ObjectInputStream(new java.io.ByteArrayInputStream(bytes.toByteArray())).readObject();
    }

    static class Node {
        Node next;
        Object value;
    }

    /** References that are only compared, copied or tested: the code need not know where their objects are. */
    static int copies(Node a, Node b, int i) {
        Node old = a.next;
        a.next = b.next;
        b.next = old;
        int sum = a.next == b ? 1 : 2;
        if (a.value == b.value) {
            sum += 4;
        }
        garbage(i);
        a.value = b.value;
        sum += a.value != null ? 8 : 16;
        return sum + (old == null ? 32 : 64);
    }

    /** A class of version 49 with a static final field {@code f} and the methods {@code set} and {@code get}. */
    static Class<?> oldClass() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(49);
        out.writeShort(14);
        for (String s : new String[] {"Old", "java/lang/Object", "f", "I", "set", "(I)V", "get", "()I", "Code"}) {
            out.writeByte(1);
            out.writeUTF(s);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2, 9, 0, 10, 0, 13, 12, 0, 3, 0, 4});
        out.writeShort(0x21);
        out.writeShort(10);
        out.writeShort(11);
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(0x19);
        out.writeShort(3);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(2);
        method(out, 5, 6, 0x1a, 0xb3, 0, 12, 0xb1);
        method(out, 7, 8, 0xb2, 0, 12, 0xac);
        out.writeShort(0);
        byte[] made = bytes.toByteArray();
        return new ClassLoader() {
            Class<?> define() {
                return defineClass("Old", made, 0, made.length);
            }
        }.define();
    }

    private static void method(DataOutputStream out, int name, int descriptor, int... code) throws Exception {
        out.writeShort(9);
        out.writeShort(name);
        out.writeShort(descriptor);
        out.writeShort(1);
        out.writeShort(9);
        out.writeInt(12 + code.length);
        out.writeShort(1);
        out.writeShort(1);
        out.writeInt(code.length);
        for (int c : code) {
            out.writeByte(c);
        }
        out.writeShort(0);
        out.writeShort(0);
    }

    /** The field that has a call site's target is final, and the VM sets it all the same. */
    static int retargeted() {
        MethodHandle[] targets = {MethodHandles.constant(int.class, 1), MethodHandles.constant(int.class, 2)};
        MutableCallSite site = new MutableCallSite(targets[1]);
        int changed = 0;
        for (int i = 0; i < 3000; i++) {
            changed += isChanged(site, targets[i & 1]) ? 1 : 0;
        }
        return changed;
    }

    static boolean isChanged(MutableCallSite site, MethodHandle target) {
        MethodHandle before = site.getTarget();
        site.setTarget(target);
        return site.getTarget() == target && before != target;
    }

    public static void main(String[] args) throws Exception {
        String all = "";
        for (int i = 0; i < 2000; i++) {
            all = Statics.all(i);
        }
        System.out.println(all + " " + Statics.plain);
        System.out.println(Early.SEEN + " " + Early.first() + " " + Early.second().length);
        for (int i = 0; i < 3; i++) {
            try {
                System.out.println(Failing.value());
            } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
                System.out.println(e.getClass().getName());
            }
        }
        List<Integer> list = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            list.add(i);
        }
        Map<String, List<Integer>> map = new HashMap<>();
        List<List<Integer>> lists = new ArrayList<>();
        for (int i = 0; i < 6; i++) {
            map.put("key".repeat(i), list);
            lists.add(new ArrayList<>(list.subList(i, 40)));
        }
        long sum = 0;
        Node a = new Node();
        Node b = new Node();
        b.next = a;
        b.value = "b";
        for (int i = 0; i < 1500; i++) {
            Inner inner = new Finals().new Inner(i);
            sum = sum * 31 + inner.sum(list) + inner.number + iterate(list) + entries(map);
            sum += removing(new ArrayList<>(list)) + captured(new int[] {1, 2, 3}, "text") + others(lists);
            sum = sum * 31 + sometimes(i % 2 == 0 ? new Shape() : new Square(i & 7), i % 2 == 1);
            sum = sum * 31 + ofKnown(i);
            sum = sum * 31 + areas(i, i % 2 == 0 ? new Shape() : new Square(2)) + copies(a, b, i);
        }
        System.out.println(sum);
        Pair pair = new Pair(new int[4], new Pair(new int[5], new Pair(new int[6], null)));
        for (int i = 0; i < 600; i++) {
            sum = sum * 31 + pair.walk(20) + new Leaking(i).seen;
        }
        Pair copied = copy(pair);
        System.out.println(sum + " " + copied.walk(100) + " " + pair.walk(100));
        System.out.println(reflected());
        Class<?> old = oldClass();
        Method get = old.getMethod("get");
        Method set = old.getMethod("set", int.class);
        int seen = 0;
        for (int i = 0; i < 3000; i++) {
            set.invoke(null, i);
            seen += (Integer) get.invoke(null) == i ? 1 : 0;
        }
        System.out.println(seen);
        System.out.println(retargeted());
        System.setOut(new java.io.PrintStream(new java.io.FileOutputStream(java.io.FileDescriptor.out), true));
        for (int i = 0; i < 600; i++) {
            if (System.out == null || System.err == System.out) {
                throw new IllegalStateException();
            }
        }
        System.out.println("another stream");
    }
}
