import java.util.List;
import java.util.stream.Collectors;

public class StackWalking {
    interface Walk {
        Object run();
    }

    static Object deep(int n, Walk w) {
        return n == 0 ? w.run() : deep(n - 1, w);
    }

    static Class<?> caller() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).getCallerClass();
    }

    static class Nested {
        static Class<?> ask() {
            return caller();
        }
    }

    public static void main(String[] args) throws Exception {
        StackWalker walker = StackWalker.getInstance();
        System.out.println(deep(3, () -> walker.walk(s -> s.map(StackWalker.StackFrame::getMethodName).collect(Collectors.toList()))));
        System.out.println(caller() + " " + Nested.ask());
        System.out.println(deep(200, () -> walker.walk(s -> s.count())));
        System.out.println(deep(50, () -> walker.walk(s -> s.skip(3).findFirst().get().getMethodName())));
        StackWalker retaining = StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE);
        List<String> frames = retaining.walk(s -> s.map(f -> f.getDeclaringClass().getSimpleName() + "." + f.getMethodName() + f.getDescriptor()
            + (f.getLineNumber() > 0) + f.getFileName() + f.isNativeMethod()).toList());
        System.out.println(frames);
        StackWalker all = StackWalker.getInstance(java.util.Set.of(StackWalker.Option.SHOW_HIDDEN_FRAMES, StackWalker.Option.SHOW_REFLECT_FRAMES));
        System.out.println((Long) deep(1, () -> all.walk(s -> s.count())) > (Long) deep(1, () -> walker.walk(s -> s.count())));
        Object viaReflection = StackWalking.class.getDeclaredMethod("reflected").invoke(null);
        System.out.println(viaReflection);
        try {
            walker.getCallerClass();
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
        try {
            java.util.stream.Stream<StackWalker.StackFrame> leaked = walker.walk(s -> s);
            leaked.count();
        } catch (IllegalStateException e) {
            System.out.println("stream is closed");
        }
        new Thread(() -> {
            List<String> names = walker.walk(s -> s.map(StackWalker.StackFrame::getMethodName).toList());
            System.out.println(names);
        }).start();
    }

    static Object reflected() {
        return StackWalker.getInstance().walk(s -> s.map(StackWalker.StackFrame::getMethodName).toList());
    }
}
