// vm: -XX:CompileThreshold=50
/** Classes that are loaded and initialized by code that is compiled already. */
public class LateClasses {
    static StringBuilder order = new StringBuilder();

    static class First {
        static int value = note("First", 1);

        static int twice() {
            return 2 * value;
        }
    }

    static class Second extends First {
        static long value = note("Second", 5);
        int field = 3;
    }

    static class Failing {
        static int value = fail();

        static int fail() {
            note("Failing", 0);
            throw new IllegalStateException("no");
        }
    }

    interface Shape {
        double area();
    }

    static class Square implements Shape {
        static {
            note("Square", 0);
        }

        public double area() {
            return 4;
        }
    }

    static class Circle implements Shape {
        public double area() {
            return 3;
        }
    }

    static class Both implements Shape {
        public double area() {
            return 7;
        }
    }

    static int note(String name, int value) {
        order.append(name).append(';');
        return value;
    }

    static double late(int n, Object o) {
        if (n == 3000) {
            return First.twice();
        }
        if (n == 3500) {
            return Second.value + new Second().field;
        }
        if (n > 3600 && n % 100 == 0) {
            try {
                return Failing.value;
            } catch (ExceptionInInitializerError e) {
                return 10_000;
            } catch (NoClassDefFoundError e) {
                return 20_000;
            }
        }
        if (n > 2000 && o instanceof Shape) {
            return ((Shape) o).area();
        }
        return n % 3;
    }

    static Shape shape(int n) {
        if (n < 2500) {
            return null;
        }
        return n < 3000 ? new Circle() : n < 3300 ? new Square() : new Both();
    }

    public static void main(String[] args) {
        double sum = 0;
        for (int i = 0; i < 4000; i++) {
            sum += late(i, shape(i));
        }
        System.out.println(sum + " " + order);
        Runnable[] runs = new Runnable[3];
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 3000; i++) {
            int n = i;
            runs[i % 3] = i < 1500 ? () -> text.append(n % 10) : () -> text.append((char) ('a' + n % 20));
            runs[i % 3].run();
        }
        System.out.println(text.length() + " " + text.toString().hashCode());
    }
}
