package sample;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.IntFunction;

/** A bit of everything that a compiler writes, to be damaged by the tests of the verifier. */
public abstract class Sample<T extends Comparable<T>> implements Cloneable, Runnable {
    static final long LONG = 123456789012L;
    static final double DOUBLE = 1.5;
    static final String TEXT = "text";
    @Deprecated protected int number = 7;
    volatile Object[] objects = new Object[3];
    private final int[][] nested;
    long wide;
    static float ratio;

    enum Color { RED, GREEN { @Override int weight() { return 2; } }, BLUE; int weight() { return 1; } }

    record Point(int x, long y, String name) {
        Point { if (x < 0) throw new IllegalArgumentException("x"); }
    }

    sealed interface Shape permits Square, Circle {}
    record Square(double side) implements Shape {}
    record Circle(double radius) implements Shape {}

    interface Greeter { default String greet(String who) { return "Hello " + who + "!"; } static int n() { return 1; } }

    class Inner extends Sample<String> {
        Inner(int a) { super(a > 3 ? a : -a); }
        @Override protected Object clone() throws CloneNotSupportedException { return super.clone(); }
        @Override public void run() { number += Sample.this.number; }
        @Override double area(Shape s) { return number + super.wide; }
    }

    Sample(int size) {
        this(new int[size][size + 1]);
        wide = size;
    }

    private Sample(int[][] nested) {
        this.nested = nested;
    }

    abstract double area(Shape shape);

    static int sum(int... values) {
        int total = 0;
        for (int value : values) {
            total += value;
        }
        return total;
    }

    static double mixed(byte b, short s, char c, boolean z, long l, float f, double d) {
        long bits = (l << 3) ^ (b & 0xff) | s;
        if (z) bits = -bits; else bits >>>= c;
        double r = d * f + bits % 7;
        float q = (float) r;
        int i = (int) q + (int) bits + (byte) l;
        return r > 3 ? q : i < 0 ? l : r / -d;
    }

    static String choose(int i, String s, Color color) {
        switch (i) {
            case 0: return "zero";
            case 1: case 2: return TEXT;
            case 1000: return s;
            default:
        }
        switch (s) {
            case "a": return "A";
            case "bb": return "B";
        }
        return switch (color) {
            case RED -> "r";
            case GREEN -> "g" + i;
            case BLUE -> { String t = s; while (t.length() < 4) t += t; yield t; }
        };
    }

    synchronized int guarded(List<? super Integer> list, Object lock) throws Exception {
        int done = 0;
        try {
            synchronized (lock) {
                list.add(number++);
                done = 1;
            }
            try (AutoCloseable c = () -> wide++) {
                done += c.hashCode() & 1;
            }
        } catch (IllegalStateException | NullPointerException e) {
            done = e.getMessage().length();
            throw e;
        } finally {
            objects[done & 1] = list;
        }
        return done;
    }

    Object make(Object o) {
        if (o instanceof String s && !s.isEmpty()) return s.charAt(0);
        if (o instanceof int[] a) return a.clone();
        Object[][] grid = new Object[2][];
        grid[0] = new String[] {TEXT, null};
        long[] longs = {1, 2, LONG};
        longs[1] += longs[0]++;
        char[] chars = new char[2];
        chars[0] ^= 'x';
        byte[] bytes = {1};
        bytes[0]++;
        boolean[] flags = {true};
        flags[0] &= false;
        nested[0][1] = chars[0];
        float[] floats = {ratio};
        short[] shorts = new short[1];
        double[] doubles = {DOUBLE};
        doubles[0] -= floats[0] + shorts[0];
        StringBuilder b = new StringBuilder("x").append(longs[1]).append(doubles[0]);
        Function<Object, List<Object>> f = x -> { List<Object> l = new ArrayList<>(); l.add(x); l.add(b); return l; };
        IntFunction<int[]> g = int[]::new;
        Runnable r = this::run;
        assert g.apply(3).length == 3 : r;
        return new Greeter() { int n = number; public String toString() { return greet(b.toString()) + n; } }
            .greet(f.apply(grid).toString()) + Greeter.n() + new Point(1, 2, "p") + Sample.class;
    }

    static <E extends Exception> void raise(Exception e) throws E {
        label:
        for (int i = 0; ; i++) {
            for (long j = i; j < 10; j += 2) {
                if (j == 5) continue label;
                if (j == 8L) break label;
            }
        }
        @SuppressWarnings("unchecked") E x = (E) e;
        throw x;
    }

    public static void main(String[] args) {
        System.out.println(sum(1, 2, 3) + choose(args.length, "q", Color.RED));
    }
}
