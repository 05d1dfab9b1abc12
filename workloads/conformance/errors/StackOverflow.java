// zeal
public class StackOverflow {
    static int depth;
    int field;

    static void plain() {
        depth++;
        plain();
    }

    static long wide(long a, double b, Object c, int d) {
        depth++;
        return wide(a + 1, b * 2, c, d) + d;
    }

    synchronized void locked() {
        depth++;
        locked();
    }

    static int inFinally(int n) {
        try {
            return inFinally(n + 1);
        } finally {
            depth++;
        }
    }

    @Override
    public String toString() {
        return "x" + this;
    }

    static class BadInit {
        static int value = recurse(0);

        static int recurse(int n) {
            return recurse(n + 1) + 1;
        }
    }

    interface Body {
        void run();
    }

    static void check(String name, Body body) {
        depth = 0;
        try {
            body.run();
            System.out.println(name + " ended");
        } catch (StackOverflowError e) {
            System.out.println(name + " " + e.getMessage() + " " + (e.getStackTrace().length > 100));
        }
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3; i++) {
            check("plain", StackOverflow::plain);
            // Code that is compiled needs less of the stack, but a program that overflows it shall not take much longer.
            System.out.println(depth > 1000 && depth < 200_000);
        }
        check("wide", () -> wide(1, 2, "c", 4));
        StackOverflow o = new StackOverflow();
        check("locked", o::locked);
        System.out.println(Thread.holdsLock(o));
        check("finally", () -> inFinally(0));
        check("toString", () -> o.toString());
        try {
            System.out.println(BadInit.value);
        } catch (StackOverflowError e) {
            System.out.println("in initialiser");
        }
        try {
            System.out.println(BadInit.value);
        } catch (NoClassDefFoundError e) {
            System.out.println(e.getMessage());
        }
        Thread t = new Thread(() -> check("in thread", StackOverflow::plain));
        t.start();
        t.join();
        Thread small = new Thread(null, () -> check("small stack", StackOverflow::plain), "small", 1 << 17);
        small.start();
        small.join();
        System.out.println("still alive " + depthOf(500));
    }

    static int depthOf(int n) {
        return n == 0 ? 0 : 1 + depthOf(n - 1);
    }
}
