import java.util.Arrays;
import java.util.List;
import java.util.Objects;

public class Records {
    record Point(int x, int y) {
        static int made;

        Point {
            if (x < 0) {
                throw new IllegalArgumentException("negative x: " + x);
            }
            made++;
        }

        Point(int both) {
            this(both, both);
        }

        double distance() {
            return Math.sqrt((double) x * x + y * y);
        }
    }

    record Pair<A, B>(A first, B second) {
        <C> Pair<A, C> withSecond(C c) {
            return new Pair<>(first, c);
        }
    }

    record Everything(byte b, short s, char c, int i, long l, float f, double d, boolean z,
                      String text, int[] array, List<String> list) {}

    record Empty() {}

    interface Named {
        String name();

        default String greet() {
            return "hi " + name();
        }
    }

    record Person(String name) implements Named {
        @Override
        public String toString() {
            return "<" + name + ">";
        }
    }

    public static void main(String[] args) {
        Point p = new Point(3, 4);
        System.out.println(p + " " + p.distance() + " " + p.hashCode() + " " + p.equals(new Point(3, 4)));
        System.out.println(new Point(7) + " " + Point.made);
        try {
            new Point(-1, 0);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        Pair<String, Integer> pair = new Pair<>("a", 1);
        System.out.println(pair + " " + pair.withSecond(null) + " " + pair.hashCode());
        int[] array = {1};
        Everything e = new Everything((byte) 1, (short) 2, 'c', 4, 5L, 6f, 7d, true, "t", array, List.of("x"));
        System.out.println(e.toString().replaceAll("\\[I@[0-9a-f]+", "ARRAY"));
        System.out.println(e.equals(new Everything((byte) 1, (short) 2, 'c', 4, 5L, 6f, 7d, true, "t", array, List.of("x"))));
        System.out.println(e.equals(new Everything((byte) 1, (short) 2, 'c', 4, 5L, 6f, 7d, true, "t", new int[] {1}, List.of("x"))));
        System.out.println(new Pair<>(0.0, Double.NaN).equals(new Pair<>(-0.0, Double.NaN)));
        System.out.println(new Empty() + " " + new Empty().hashCode() + " " + new Empty().equals(new Empty()));
        System.out.println(new Person("Ann").greet() + " " + new Person("Bo"));
        System.out.println(Objects.equals(new Person(null), new Person(null)));
        System.out.println(Arrays.toString(Point.class.getRecordComponents()) + " " + Point.class.isRecord());
    }
}
