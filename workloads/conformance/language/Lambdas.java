import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.BiFunction;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.IntFunction;
import java.util.function.Supplier;

// zeal
public class Lambdas {
    interface TriFunction<A, B, C, R> {
        R apply(A a, B b, C c);

        default <V> TriFunction<A, B, C, V> then(Function<? super R, ? extends V> next) {
            return (a, b, c) -> next.apply(apply(a, b, c));
        }
    }

    interface Wide {
        double apply(byte b, long l, float f, char c, double d);
    }

    int field = 10;

    Supplier<Integer> capture() {
        return () -> field++;
    }

    static int twice(int x) {
        return x * 2;
    }

    int plus(int x) {
        return x + field;
    }

    static class Counter {
        final int start;

        Counter(int start) {
            this.start = start;
        }
    }

    static String vararg(Object... all) {
        return Arrays.toString(all);
    }

    public static void main(String[] args) {
        Lambdas self = new Lambdas();
        Supplier<Integer> s = self.capture();
        System.out.println(s.get() + s.get() + self.field);
        Function<Integer, Integer> f = Lambdas::twice;
        Function<Integer, Integer> g = self::plus;
        BiFunction<Lambdas, Integer, Integer> h = Lambdas::plus;
        System.out.println(f.andThen(g).apply(4) + " " + f.compose(g).apply(4) + " " + h.apply(self, 1));
        IntFunction<int[]> maker = int[]::new;
        Function<Integer, Counter> ctor = Counter::new;
        System.out.println(maker.apply(3).length + " " + ctor.apply(8).start);
        TriFunction<Integer, Long, String, String> tri = (a, b, c) -> c + a + b;
        System.out.println(tri.then(String::length).apply(1, 2L, "abc"));
        Wide wide = (b, l, fl, c, d) -> b + l + fl + c + d;
        System.out.println(wide.apply((byte) 1, 2L, 0.5f, 'a', 0.25));
        List<Runnable> runs = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            int k = i * i;
            long wideCapture = i;
            double d = i / 2.0;
            runs.add(() -> System.out.print(k + ":" + wideCapture + ":" + d + " "));
        }
        runs.forEach(Runnable::run);
        System.out.println();
        Function<Integer, Function<Integer, Function<Integer, Integer>>> curried = a -> b -> c -> a * b + c;
        System.out.println(curried.apply(3).apply(4).apply(5));
        IntBinaryOperator[] ops = {Integer::sum, Math::max, (a, b) -> a - b, Integer::compare};
        for (IntBinaryOperator op : ops) {
            System.out.print(op.applyAsInt(7, 9) + " ");
        }
        System.out.println();
        Function<Object, String> va = Lambdas::vararg;
        System.out.println(va.apply("x"));
        Runnable r = self::toString;
        r.run();
        Supplier<Supplier<String>> nested = () -> () -> "nested";
        System.out.println(nested.get().get());
        System.out.println(r.getClass().isSynthetic() + " " + r.getClass().isHidden());
        Object o = (Runnable & java.io.Serializable) () -> {};
        System.out.println((o instanceof java.io.Serializable) + " " + (o instanceof Runnable));
        try {
            Supplier<Integer> nul = ((Lambdas) null)::capture0;
        } catch (NullPointerException e) {
            System.out.println("null receiver");
        }
        System.out.println(Lambdas.<Long, Long>fix(fact -> n -> n <= 1 ? 1L : n * fact.apply(n - 1)).apply(15L));
    }

    Integer capture0() {
        return 0;
    }

    static <A, B> Function<A, B> fix(Function<Function<A, B>, Function<A, B>> f) {
        return a -> f.apply(fix(f)).apply(a);
    }
}
