// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** Two hundred loaders define classes of all kinds, run them, some until they are compiled, and are dropped. All are unloaded. */
public class UnloadLoaders extends ClassLoader {
    static final int LOADERS = 200;
    static final int HOT = 1_500;

    public static final ClassValue<Map.Entry<Class<?>, Integer>> NUMBERS = new ClassValue<>() {
        @Override
        protected Map.Entry<Class<?>, Integer> computeValue(Class<?> type) {
            return Map.entry(type, type.getSimpleName().length());
        }
    };

    static final Map<String, byte[]> BYTES = new HashMap<>();
    static final ReferenceQueue<ClassLoader> QUEUE = new ReferenceQueue<>();
    static final List<Reference<ClassLoader>> LOADER_REFERENCES = new ArrayList<>();
    static final List<Reference<Class<?>>> CLASS_REFERENCES = new ArrayList<>();
    static final List<Reference<Class<?>>> OTHER_REFERENCES = new ArrayList<>();

    UnloadLoaders() {
        super(UnloadLoaders.class.getClassLoader());
        LOADER_REFERENCES.add(new WeakReference<>(this, QUEUE));
    }

    public static byte[] bytes(String name) {
        return BYTES.computeIfAbsent(name, absent -> {
            try (InputStream in = UnloadLoaders.class.getResourceAsStream(absent + ".class")) {
                return in.readAllBytes();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        });
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("LoadersUnit")) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            if (known == null) {
                byte[] bytes = bytes(name);
                known = defineClass(name, bytes, 0, bytes.length);
                CLASS_REFERENCES.add(new WeakReference<>(known));
            }
            return known;
        }
    }

    static long useAndDrop(int number) throws Throwable {
        Class<?> unit = new UnloadLoaders().loadClass("LoadersUnit");
        Constructor<?> constructor = unit.getDeclaredConstructor();
        constructor.setAccessible(true);
        IntUnaryOperator operator = (IntUnaryOperator) constructor.newInstance();
        long sum = 0;
        int calls = number % 40 == 0 ? HOT : 3;
        for (int i = 0; i < calls; i++) {
            sum = sum * 31 + operator.applyAsInt(i);
        }
        if (number % 4 == 0) {
            Method seldom = unit.getMethod("seldom", unit, int.class);
            seldom.setAccessible(true);
            Object[] others = (Object[]) seldom.invoke(null, operator, number % 40 == 0 ? 300 : 20);
            sum = sum * 31 + (int) others[others.length - 1];
            for (int i = 0; i < 5; i++) {
                OTHER_REFERENCES.add(new WeakReference<>(others[i].getClass()));
            }
        }
        Method forget = unit.getDeclaredMethod("forget");
        forget.setAccessible(true);
        forget.invoke(null);
        return sum;
    }

    static <T> long cleared(List<Reference<T>> references) {
        return references.stream().filter(reference -> reference.refersTo(null)).count();
    }

    record Last(StringBuilder text) {
    }

    public static void main(String[] args) throws Throwable {
        ClassLoadingMXBean bean = ManagementFactory.getClassLoadingMXBean();
        long before = bean.getUnloadedClassCount();
        Set<Long> sums = new HashSet<>();
        long all = 0;
        for (int i = 0; i < LOADERS; i++) {
            long sum = useAndDrop(i);
            sums.add(sum);
            all = all * 31 + sum;
        }
        // ObjectMethods keeps the type of the record that it was asked for last.
        boolean same = new Last(null).equals(new Last(null));
        System.out.println(same + " " + sums.size() + " sums, all " + Long.toHexString(all));
        long classes = CLASS_REFERENCES.size();
        System.out.println("defined enough: " + (classes >= LOADERS * 12));
        int queued = 0;
        long unloaded = 0;
        for (int tries = 0; tries < 50; tries++) {
            System.gc();
            Thread.sleep(10);
            while (QUEUE.poll() != null) {
                queued++;
            }
            unloaded = bean.getUnloadedClassCount() - before;
            if (queued == LOADERS && cleared(CLASS_REFERENCES) == classes && cleared(OTHER_REFERENCES) == OTHER_REFERENCES.size() && unloaded >= classes) {
                break;
            }
        }
        System.out.println("loaders " + cleared(LOADER_REFERENCES) + " of " + LOADERS + ", queued " + queued);
        System.out.println("classes left: " + (classes - cleared(CLASS_REFERENCES)));
        System.out.println("others " + cleared(OTHER_REFERENCES) + " of " + OTHER_REFERENCES.size());
        System.out.println("unloaded at least as many: " + (unloaded >= classes));
        // The same names once more.
        System.out.println(sums.contains(useAndDrop(1)) + " " + sums.contains(useAndDrop(0)));
    }
}

/** Each loader defines this class and all that are nested in it. */
class LoadersUnit implements IntUnaryOperator {
    static int calls;
    static final int[] TABLE = new int[64];
    static final ThreadLocal<Square> OWN = ThreadLocal.withInitial(() -> new Square(3));

    static {
        for (int i = 0; i < TABLE.length; i++) {
            TABLE[i] = i * i + 1;
        }
    }

    @Retention(RetentionPolicy.RUNTIME)
    public @interface Mark {
        int value() default 4;

        Class<?> of() default Square.class;
    }

    public interface Shape {
        int area(int scale);

        default int twice(int scale) {
            return area(scale) + half(scale);
        }

        private int half(int scale) {
            return area(scale) / 2;
        }

        static Shape unit() {
            return scale -> scale;
        }
    }

    abstract static class Base implements Shape {
        static int made;
        final int side;

        Base(int side) {
            this.side = side;
            made++;
        }
    }

    @Mark(7)
    static class Square extends Base {
        Square(int side) {
            super(side);
        }

        @Override
        public int area(int scale) {
            return side * side * scale;
        }
    }

    static final class Strip extends Base implements Comparable<Strip> {
        Strip(int side) {
            super(side);
        }

        @Override
        public int area(int scale) {
            return side + scale;
        }

        @Override
        public int twice(int scale) {
            return 3 * area(scale);
        }

        @Override
        public int compareTo(Strip other) {
            return Integer.compare(side, other.side);
        }
    }

    enum Kind {
        LOW,
        MIDDLE {
            @Override
            int weight() {
                return 10;
            }
        },
        HIGH;

        int weight() {
            return ordinal() + 1;
        }
    }

    record Point(int x, long y, String name) {
        Point {
            Objects.requireNonNull(name);
        }
    }

    sealed interface Tree permits Leaf, Fork {
    }

    record Leaf(int value) implements Tree {
    }

    record Fork(Tree left, Tree right) implements Tree {
    }

    static class Refused extends Exception {
        final int code;

        Refused(int code) {
            super("refused " + code);
            this.code = code;
        }
    }

    static class Box<T extends Comparable<T>> implements Supplier<T> {
        T value;

        @Override
        public T get() {
            return value;
        }
    }

    class Inner {
        int outer() {
            return applied + calls % 3;
        }
    }

    int applied;

    static int weights(Kind kind) {
        switch (kind) {
            case LOW:
                return kind.weight();
            case MIDDLE:
                return kind.weight() + 1;
            default:
                return kind.weight() + 2;
        }
    }

    static int sum(Tree tree) {
        if (tree instanceof Fork fork) {
            return sum(fork.left()) + sum(fork.right());
        }
        return ((Leaf) tree).value();
    }

    static int checked(int n) throws Refused {
        if (n % 3 == 0) {
            throw new Refused(n);
        }
        return n;
    }

    static int added(int a, int b) {
        return a + b;
    }

    int shapes(int n) {
        Shape[] shapes = {new Square(n & 3), new Strip(n & 7), Shape.unit(), new Base(2) {
            @Override
            public int area(int scale) {
                return n + scale;
            }
        }};
        Square[][] grid = new Square[2][3];
        grid[n & 1][1] = (Square) shapes[0];
        Object[] stored = grid[0];
        int sum = grid[n & 1][1].area(2);
        try {
            stored[2] = shapes[1];
        } catch (ArrayStoreException e) {
            sum += 5;
        }
        for (Shape shape : shapes) {
            sum += shape.twice(n & 15);
            if (shape instanceof Base base) {
                sum += base.side;
            }
            if (shape instanceof Comparable) {
                sum++;
            }
        }
        return sum + shapes.clone().length;
    }

    int texts(int n) {
        Point point = new Point(n & 7, n, "p" + (n & 3));
        Point same = new Point(n & 7, n, "p" + (n & 3));
        String text = point + " of " + Kind.values()[n % 3] + ' ' + (n & 15) + (point.equals(same) ? "" : "!");
        switch ("k" + n % 3) {
            case "k0":
                return text.length() + point.hashCode() - same.hashCode();
            case "k1":
                return text.length() + 1;
            default:
                return text.length() + 2;
        }
    }

    @Override
    public int applyAsInt(int n) {
        calls++;
        applied = n & 31;
        class Local implements IntUnaryOperator {
            @Override
            public int applyAsInt(int operand) {
                return operand + n % 5;
            }
        }
        Box<Strip> box = new Box<>();
        box.value = new Strip(n & 3);
        Function<Integer, Integer> captured = i -> i + TABLE[n & 63];
        Supplier<Square> made = OWN::get;
        int sum = shapes(n) + texts(n) + weights(Kind.values()[n % 3]) + new Local().applyAsInt(n & 7);
        sum += sum(new Fork(new Fork(new Leaf(n & 3), new Leaf(2)), new Leaf(1))) + captured.apply(n & 1) + made.get().area(1);
        sum += new Inner().outer() + box.get().compareTo(new Strip(2));
        try {
            sum += checked(n);
        } catch (Refused e) {
            sum += e.code + e.getMessage().length();
        }
        synchronized (LoadersUnit.class) {
            return sum & 0xffff;
        }
    }

    /** The calling thread lives on: it would keep the value, and so the class. */
    static void forget() {
        OWN.remove();
    }

    /** What is too slow for the loop. Returns objects of hidden and generated classes. */
    public static Object[] seldom(LoadersUnit unit, int rounds) throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodType type = MethodType.methodType(int.class, int.class, int.class);
        MethodHandle added = lookup.findStatic(LoadersUnit.class, "added", type);
        MethodHandle area = lookup.findVirtual(Shape.class, "area", MethodType.methodType(int.class, int.class));
        MethodHandle made = lookup.findConstructor(Square.class, MethodType.methodType(void.class, int.class));
        MethodHandle both = MethodHandles.guardWithTest(MethodHandles.dropArguments(MethodHandles.constant(boolean.class, true), 0, int.class), made, made);
        VarHandle counter = lookup.findStaticVarHandle(LoadersUnit.class, "calls", int.class);
        VarHandle side = lookup.findVarHandle(LoadersUnit.class, "applied", int.class);
        VarHandle elements = MethodHandles.arrayElementVarHandle(Square[].class);
        Square[] squares = new Square[4];
        int sum = 0;
        Method method = LoadersUnit.class.getDeclaredMethod("added", int.class, int.class);
        for (int i = 0; i < rounds; i++) {
            sum += (int) added.invokeExact(i, 2) + (int) area.invokeExact((Shape) new Strip(i), 1);
            Square square = (Square) both.invokeExact(i);
            elements.setVolatile(squares, i & 3, square);
            sum += ((Square) elements.getAndSet(squares, i & 3, null)).side;
            sum += (int) counter.getAndAdd(0) * 0 + (int) side.getVolatile(unit) * 0;
            sum += (int) method.invoke(null, i, 1);
        }
        Shape proxy = (Shape) Proxy.newProxyInstance(LoadersUnit.class.getClassLoader(), new Class<?>[] {Shape.class},
            (self, called, arguments) -> called.isDefault() ? 1 : (int) arguments[0] * 2);
        Mark mark = Square.class.getAnnotation(Mark.class);
        sum += proxy.area(4) + mark.value() + mark.of().getDeclaredFields().length;
        String streamed = IntStream.range(0, 5).mapToObj(i -> new Strip(5 - i)).sorted().map(s -> "" + s.side).collect(Collectors.joining(","));
        int[] fromThread = new int[1];
        Thread thread = new Thread(() -> fromThread[0] = OWN.get().area(2));
        thread.start();
        thread.join();
        Class<?> hidden = lookup.defineHiddenClass(UnloadLoaders.bytes("LoadersUnit$Square"), true).lookupClass();
        Runnable lambda = () -> calls++;
        // The value refers to the class, which refers to the value.
        Integer number = UnloadLoaders.NUMBERS.get(LoadersUnit.class).getValue();
        sum += streamed.length() + fromThread[0] + number + Enum.valueOf(Kind.class, "HIGH").weight();
        return new Object[] {lambda, proxy, mark, new Square[1][1], Array.newInstance(hidden, 1, 1), sum};
    }
}
