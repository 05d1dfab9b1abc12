// vm: -XX:CompileThreshold=100
import java.security.AccessController;
import java.security.PrivilegedAction;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;

/** The callers of hot code, as it sees them: stack traces, StackWalker, caller classes, other threads' stacks. */
public class StackWalks {
    static final StackWalker WALKER = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);

    static String last = "";
    static int changes;

    static String walk() {
        return WALKER.walk(frames -> frames.map(f -> f.getMethodName() + ":" + f.getLineNumber())
            .collect(Collectors.joining(" ")));
    }

    static void note(String now) {
        if (!now.equals(last)) {
            changes++;
            last = now;
            System.out.println(now);
        }
    }

    static int small(int n) {
        note(n % 50 == 0 ? walk() : last);
        return n;
    }

    static int middle(int n) {
        return small(n) + 1;
    }

    static int outer(int n) {
        int sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += middle(n);
        }
        return sum;
    }

    static class Other {
        static Class<?> caller() {
            return WALKER.getCallerClass();
        }
    }

    static Class<?> whoAmI() {
        return Other.caller();
    }

    static String trace(int n) {
        StackTraceElement[] trace = new Throwable().getStackTrace();
        StringBuilder text = new StringBuilder();
        for (StackTraceElement frame : trace) {
            text.append(frame.getMethodName()).append(':').append(frame.getLineNumber()).append(' ');
        }
        return text.toString();
    }

    static String viaTrace(int n) {
        return n > 0 ? trace(n) : "";
    }

    static String privileged() {
        return AccessController.doPrivileged((PrivilegedAction<String>) () ->
            AccessController.getContext() == null ? "null" : "context");
    }

    static volatile boolean stop;
    static volatile long spins;
    static final Object LOCK = new Object();

    static void spin() {
        while (!stop) {
            spins++;
        }
    }

    static void holder() {
        synchronized (LOCK) {
            spin();
        }
    }

    public static void main(String[] args) throws Exception {
        int sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum += outer(i);
        }
        System.out.println(sum + " " + changes);
        List<Class<?>> callers = new ArrayList<>();
        List<String> traces = new ArrayList<>();
        List<String> contexts = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            Class<?> caller = whoAmI();
            if (!callers.contains(caller)) {
                callers.add(caller);
            }
            String trace = viaTrace(i % 4);
            if (!traces.contains(trace)) {
                traces.add(trace);
            }
            String context = privileged();
            if (!contexts.contains(context)) {
                contexts.add(context);
            }
        }
        System.out.println(callers + " " + contexts);
        traces.forEach(System.out::println);
        Thread thread = new Thread(StackWalks::holder, "spinner");
        thread.start();
        while (spins < 5_000_000) {
            Thread.onSpinWait();
        }
        boolean seen = false;
        for (int i = 0; i < 200 && !seen; i++) {
            StackTraceElement[] trace = thread.getStackTrace();
            seen = trace.length >= 3 && trace[0].getMethodName().equals("spin")
                && trace[1].getMethodName().equals("holder");
        }
        System.out.println(seen);
        stop = true;
        thread.join();
        synchronized (LOCK) {
            System.out.println("free");
        }
    }
}
