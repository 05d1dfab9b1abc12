// vm: -XX:CompileThreshold=100
import java.util.ArrayList;
import java.util.List;

/** Exceptions thrown, caught and passed on by hot code: which handler, which line, which message. */
public class HotExceptions {
    static int log;

    static int divide(int a, int b) {
        return a / b;
    }

    static int element(int[] array, int index) {
        return array[index];
    }

    static int length(String s) {
        return s.length();
    }

    static Integer cast(Object o) {
        return (Integer) o;
    }

    static void put(Object[] array, Object value) {
        array[0] = value;
    }

    static int[] make(int n) {
        return new int[n];
    }

    static int nested(int kind, int[] array) {
        try {
            try {
                switch (kind) {
                    case 0:
                        return divide(1, array[0]);
                    case 1:
                        return element(array, 7);
                    case 2:
                        return length(array.length > 0 ? null : "");
                    case 3:
                        return cast(array.length == 1 ? "x" : 1);
                    case 4:
                        put(new Integer[1], "wrong");
                        return 0;
                    case 5:
                        return make(-array.length).length;
                    case 6:
                        throw new IllegalStateException("own");
                    default:
                        return kind;
                }
            } catch (ArithmeticException | IndexOutOfBoundsException e) {
                log += 1;
                throw e;
            } finally {
                log += 10;
            }
        } catch (NullPointerException e) {
            log += 100;
            return -1;
        } catch (ClassCastException e) {
            log += 1000;
            return -2;
        }
    }

    static String place(Throwable e) {
        StringBuilder text = new StringBuilder(e.getClass().getSimpleName());
        text.append(": ").append(e.getMessage());
        for (StackTraceElement frame : e.getStackTrace()) {
            text.append(" ").append(frame.getMethodName()).append(":").append(frame.getLineNumber());
        }
        return text.toString();
    }

    static int loop(int n) {
        // Thrown and caught in one loop, which is entered in the middle.
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                if (i % 3 == 0) {
                    throw new RuntimeException("r" + i);
                }
                caught += divide(i, i % 5);
            } catch (ArithmeticException e) {
                caught += 2;
            } catch (RuntimeException e) {
                caught += e.getMessage().length();
            }
        }
        return caught;
    }

    static long leave(int n) {
        long sum = 0;
        for (int i = 0; ; i++) {
            sum += i;
            if (i == n) {
                throw new IndexOutOfBoundsException("at " + sum);
            }
        }
    }

    public static void main(String[] args) {
        int[] array = new int[1];
        List<String> shown = new ArrayList<>();
        long sum = 0;
        for (int i = 0; i < 4000; i++) {
            String what;
            try {
                sum += nested(i % 8, array);
                what = null;
            } catch (RuntimeException e) {
                what = place(e);
            }
            if (what != null && !shown.contains(what)) {
                shown.add(what);
            }
        }
        shown.forEach(System.out::println);
        System.out.println(sum + " " + log);
        System.out.println(loop(20_000));
        for (int i = 0; i < 3; i++) {
            try {
                leave(50_000);
            } catch (IndexOutOfBoundsException e) {
                System.out.println(place(e));
            }
        }
    }
}
