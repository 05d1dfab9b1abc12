import java.io.PrintWriter;
import java.io.StringWriter;

public class StackTraces {
    static class Node {
        Node() {
            fail("constructor");
        }
    }

    static class Lazy {
        static int value = initialise();

        static int initialise() {
            throw new IllegalStateException("static");
        }
    }

    static void fail(String what) {
        throw new RuntimeException(what);
    }

    static void recurse(int n) {
        if (n == 0) {
            fail("deep");
        }
        recurse(n - 1);
    }

    static void print(Throwable t) {
        StringWriter out = new StringWriter();
        t.printStackTrace(new PrintWriter(out));
        System.out.print(out);
    }

    public static void main(String[] args) {
        try {
            recurse(3);
        } catch (RuntimeException e) {
            print(e);
        }
        try {
            new Node();
        } catch (RuntimeException e) {
            print(new Exception("wrapper", e));
        }
        try {
            System.out.println(Lazy.value);
        } catch (ExceptionInInitializerError e) {
            print(e);
        }
        Runnable anonymous = new Runnable() {
            @Override
            public void run() {
                int[] a = new int[2];
                a[2] = 1;
            }
        };
        try {
            anonymous.run();
        } catch (ArrayIndexOutOfBoundsException e) {
            print(e);
        }
        Exception outer = new Exception("outer");
        outer.addSuppressed(new Exception("sup", new Error("cause of sup")));
        print(outer);
        StackTraceElement top = new Throwable().getStackTrace()[0];
        System.out.println(top.getClassName() + " " + top.getMethodName() + " " + top.getFileName()
            + " " + (top.getLineNumber() > 0) + " " + top.isNativeMethod());
        Exception noTrace = new Exception("none", null, false, false) {};
        System.out.println(noTrace.getStackTrace().length);
        Exception replaced = new Exception("replaced");
        replaced.setStackTrace(new StackTraceElement[] {new StackTraceElement("a.B", "m", "B.java", 12),
            new StackTraceElement("a.C", "n", null, -2)});
        print(replaced);
        try {
            Integer.parseInt("12x");
        } catch (NumberFormatException e) {
            print(e);
        }
    }
}
