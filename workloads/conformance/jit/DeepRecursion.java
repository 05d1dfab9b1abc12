// vm: -XX:CompileThreshold=100
import java.lang.reflect.InvocationTargetException;
import java.util.function.IntUnaryOperator;

/** Recursion through compiled, interpreted, reflective and native frames, and what happens at its end. */
public class DeepRecursion {
    static IntUnaryOperator[] next = new IntUnaryOperator[2];
    static int depth;
    static int unwound;

    static int even(int n) {
        return n == 0 ? 0 : 1 + next[n & 1].applyAsInt(n - 1);
    }

    static int odd(int n) {
        return n == 0 ? 0 : 1 + next[n & 1].applyAsInt(n - 1);
    }

    static void forever() {
        depth++;
        forever();
    }

    static void withFinally(int n) {
        depth++;
        try {
            withFinally(n + 1);
        } finally {
            unwound++;
        }
    }

    static synchronized void locked(Object lock, int n) {
        depth++;
        synchronized (lock) {
            locked(lock, n + 1);
        }
    }

    static void mixed(int n) {
        depth++;
        if ((n & 1) == 0) {
            mixed(n + 1);
            return;
        }
        try {
            DeepRecursion.class.getDeclaredMethod("reflected", int.class).invoke(null, n + 1);
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Error) {
                throw (Error) e.getCause();
            }
            throw new AssertionError(e);
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    static void reflected(int n) {
        mixed(n);
    }

    public static void main(String[] args) {
        next[0] = DeepRecursion::even;
        next[1] = DeepRecursion::odd;
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum += even(i % 20);
        }
        System.out.println(sum + " " + even(2000));
        Object lock = new Object();
        for (int i = 0; i < 4; i++) {
            depth = 0;
            try {
                forever();
            } catch (StackOverflowError e) {
                StackTraceElement[] trace = e.getStackTrace();
                System.out.println((depth > 1000) + " " + trace.length + " " + trace[9].getMethodName());
            }
            depth = 0;
            unwound = 0;
            try {
                withFinally(0);
            } catch (StackOverflowError e) {
                System.out.println(depth > 1000 && unwound >= depth - 1);
            }
            depth = 0;
            try {
                locked(lock, 0);
            } catch (StackOverflowError e) {
                System.out.println((depth > 500) + " " + Thread.holdsLock(lock)
                    + " " + Thread.holdsLock(DeepRecursion.class));
            }
            depth = 0;
            try {
                mixed(0);
            } catch (StackOverflowError e) {
                System.out.println(depth > 100);
            }
        }
    }
}
