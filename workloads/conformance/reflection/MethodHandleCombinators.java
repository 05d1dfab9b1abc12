import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;

public class MethodHandleCombinators {
    static int plus(int a, int b) {
        return a + b;
    }

    static String show(Object a, Object b, Object c) {
        return a + "," + b + "," + c;
    }

    static boolean positive(int x) {
        return x > 0;
    }

    static String yes(int x) {
        return "yes" + x;
    }

    static String no(int x) {
        return "no" + x;
    }

    static String risky(int x) {
        if (x < 0) {
            throw new IllegalStateException("negative " + x);
        }
        return "fine " + x;
    }

    static String recover(IllegalStateException e, int x) {
        return "recovered " + e.getMessage();
    }

    static String cleanup(Throwable t, String result, int x) {
        return result + " cleaned " + (t == null) + x;
    }

    static int step(int sum, int i) {
        return sum + i * i;
    }

    static int sumList(int sum, Integer x) {
        return sum + x;
    }

    public static void main(String[] args) throws Throwable {
        MethodHandles.Lookup l = MethodHandles.lookup();
        Class<?> c = MethodHandleCombinators.class;
        MethodHandle plus = l.findStatic(c, "plus", MethodType.methodType(int.class, int.class, int.class));
        MethodHandle show = l.findStatic(c, "show", MethodType.genericMethodType(3).changeReturnType(String.class));
        System.out.println((int) MethodHandles.insertArguments(plus, 1, 10).invokeExact(5) + " " + (int) MethodHandles.dropArguments(plus, 1, String.class).invokeExact(1, "x", 2));
        System.out.println((String) MethodHandles.permuteArguments(show, show.type(), 2, 0, 1).invokeExact((Object) 1, (Object) 2, (Object) 3));
        System.out.println(MethodHandles.filterArguments(show, 1, l.findVirtual(Object.class, "getClass", MethodType.methodType(Class.class)).asType(MethodType.genericMethodType(1)))
            .invoke("a", "b", "c"));
        System.out.println(MethodHandles.filterReturnValue(plus, l.findStatic(String.class, "valueOf", MethodType.methodType(String.class, int.class))).invoke(3, 4));
        System.out.println(MethodHandles.foldArguments(MethodHandles.dropArguments(plus, 2, int.class), plus).invoke(5, 6));
        System.out.println(MethodHandles.collectArguments(show, 1, plus.asType(MethodType.methodType(Object.class, int.class, int.class))).invoke("a", 1, 2, "d"));
        MethodHandle guard = MethodHandles.guardWithTest(l.findStatic(c, "positive", MethodType.methodType(boolean.class, int.class)),
            l.findStatic(c, "yes", MethodType.methodType(String.class, int.class)), l.findStatic(c, "no", MethodType.methodType(String.class, int.class)));
        System.out.println((String) guard.invokeExact(5) + (String) guard.invokeExact(-5));
        MethodHandle risky = l.findStatic(c, "risky", MethodType.methodType(String.class, int.class));
        MethodHandle safe = MethodHandles.catchException(risky, IllegalStateException.class, l.findStatic(c, "recover",
            MethodType.methodType(String.class, IllegalStateException.class, int.class)));
        System.out.println((String) safe.invokeExact(1) + " " + (String) safe.invokeExact(-1));
        MethodHandle finished = MethodHandles.tryFinally(risky, l.findStatic(c, "cleanup", MethodType.methodType(String.class, Throwable.class, String.class, int.class)));
        System.out.println((String) finished.invokeExact(3));
        try {
            finished.invoke(-3);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        MethodHandle step = l.findStatic(c, "step", MethodType.methodType(int.class, int.class, int.class));
        MethodHandle counted = MethodHandles.countedLoop(MethodHandles.constant(int.class, 10), MethodHandles.constant(int.class, 0), step);
        System.out.println((int) counted.invokeExact());
        MethodHandle iterated = MethodHandles.iteratedLoop(null, MethodHandles.constant(int.class, 100), l.findStatic(c, "sumList",
            MethodType.methodType(int.class, int.class, Integer.class)).asType(MethodType.methodType(int.class, int.class, Object.class)));
        System.out.println(iterated.invoke(List.of(1, 2, 3)));
        MethodHandle spread = show.asSpreader(Object[].class, 3);
        System.out.println(spread.invoke(new Object[] {7, 8, 9}));
        MethodHandle list = l.findStatic(Arrays.class, "asList", MethodType.methodType(List.class, Object[].class));
        System.out.println(list.invoke(1, 2, 3) + " " + list.asFixedArity().invoke(new Object[] {4}) + " " + list.asCollector(Object[].class, 2).invoke("p", "q") + " " + list.isVarargsCollector());
        System.out.println(MethodHandles.explicitCastArguments(plus, MethodType.methodType(byte.class, long.class, double.class)).invoke(300L, 1.9));
        System.out.println((int) MethodHandles.identity(int.class).invokeExact(6) + " " + (Object) MethodHandles.zero(String.class).invoke() + " "
            + MethodHandles.empty(MethodType.methodType(long.class, String.class)).invoke("x"));
        int[] array = {1, 2, 3};
        MethodHandles.arrayElementSetter(int[].class).invokeExact(array, 1, 20);
        System.out.println((int) MethodHandles.arrayElementGetter(int[].class).invokeExact(array, 1) + " " + (int) MethodHandles.arrayLength(int[].class).invokeExact(array)
            + " " + ((String[]) MethodHandles.arrayConstructor(String[].class).invokeExact(4)).length);
        try {
            MethodHandles.throwException(int.class, RuntimeException.class).invoke(new RuntimeException("thrown by handle"));
        } catch (RuntimeException e) {
            System.out.println(e.getMessage());
        }
        MethodHandle invoker = MethodHandles.exactInvoker(plus.type());
        System.out.println((int) invoker.invokeExact(plus, 40, 2));
        Runnable r = java.lang.invoke.MethodHandleProxies.asInterfaceInstance(Runnable.class, MethodHandles.insertArguments(
            l.findVirtual(java.io.PrintStream.class, "println", MethodType.methodType(void.class, String.class)), 0, System.out, "through interface"));
        r.run();
        MethodHandle table = MethodHandles.tableSwitch(MethodHandles.dropArguments(MethodHandles.constant(String.class, "default"), 0, int.class),
            MethodHandles.dropArguments(MethodHandles.constant(String.class, "zero"), 0, int.class), MethodHandles.dropArguments(MethodHandles.constant(String.class, "one"), 0, int.class));
        System.out.println((String) table.invokeExact(0) + (String) table.invokeExact(1) + (String) table.invokeExact(2));
        int total = 0;
        for (int i = 0; i < 200; i++) {
            total += (int) plus.invokeExact(i, total % 7);
        }
        System.out.println(total);
    }
}
