// vm: -Xbatch -XX:CompileThreshold=100
import java.util.function.IntUnaryOperator;

/**
 * Classes that come to a call only after it was compiled for those seen before, in the middle of work that must be
 * done once: with effects before the call in the same expression, in loops, under locks, in calls inside of calls.
 */
public class NewReceivers {
    abstract static class Shape {
        int asked;

        abstract int area(int scale);

        int twice(int scale) {
            return area(scale) + area(scale + 1);
        }
    }

    static class Square extends Shape {
        @Override
        int area(int scale) {
            asked++;
            return scale * scale;
        }
    }

    static class Strip extends Shape {
        @Override
        int area(int scale) {
            return asked += scale;
        }
    }

    static class Point extends Shape {
        @Override
        int area(int scale) {
            return 0;
        }

        @Override
        int twice(int scale) {
            return --asked;
        }
    }

    static class Broken extends Shape {
        @Override
        int area(int scale) {
            throw new IllegalStateException("area " + scale);
        }
    }

    static int calls;

    public static void main(String[] args) {
        Shape[] shapes = {new Square(), new Strip(), new Point(), new Square() { }, new Strip() { }, new Broken()};
        IntUnaryOperator[] functions = {x -> x + 1, x -> x * 3, x -> ++calls, x -> x ^ calls, Integer::reverse};
        long sum = 0;
        for (int kinds = 1; kinds <= shapes.length; kinds++) {
            for (int round = 0; round < 700; round++) {
                Shape shape = shapes[round < 600 ? round % kinds : kinds - 1];
                IntUnaryOperator function = functions[Math.min(functions.length, kinds) - 1];
                try {
                    sum = sum * 31 + single(shape, round) + nested(shape, shapes[round % kinds], round);
                    sum = sum * 31 + looping(shapes, kinds, round) + locked(shape, round) + applied(function, round);
                } catch (IllegalStateException e) {
                    sum = sum * 31 + e.getMessage().hashCode();
                }
            }
            System.out.println(kinds + " " + Long.toHexString(sum) + " " + calls);
        }
        for (Shape shape : shapes) {
            System.out.println(shape.asked);
        }
    }

    static int single(Shape shape, int round) {
        return ++calls * 7 + shape.area(round & 15) + calls++;
    }

    static int nested(Shape a, Shape b, int round) {
        int[] counts = {1, 2, 3};
        return counts[0]++ + a.twice(counts[1]++ + b.area(counts[2]++ + round % 3)) + counts[0] + counts[1] + counts[2];
    }

    static int looping(Shape[] shapes, int kinds, int round) {
        int sum = 0;
        for (int i = 0; i < 40; i++) {
            calls++;
            sum = sum * 31 + shapes[i < 39 ? 0 : (round + i) % kinds].area(i & 3);
        }
        return sum;
    }

    static int locked(Shape shape, int round) {
        synchronized (shape) {
            calls++;
            int sum = shape.twice(round & 3);
            return sum + (Thread.holdsLock(shape) ? 1 : 0);
        }
    }

    static int applied(IntUnaryOperator function, int round) {
        int before = ++calls;
        return function.applyAsInt(round) + function.applyAsInt(before);
    }
}
