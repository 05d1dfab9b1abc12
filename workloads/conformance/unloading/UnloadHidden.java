// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup.ClassOption;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntUnaryOperator;

/** Two thousand hidden classes: weak ones go although their host's loader stays, strong ones stay as long as it does. */
public class UnloadHidden extends ClassLoader {
    static final int CLASSES = 2_000;
    private static int secret = 5;
    static volatile Object garbage;

    private static int shared(int n) {
        return n + secret;
    }

    /** Has access to the private members of its host only as its nest mate. */
    static class Mate implements IntUnaryOperator {
        static int runs;

        @Override
        public int applyAsInt(int n) {
            runs++;
            return shared(n) + ("run " + runs).length();
        }
    }

    static class Stranger implements IntUnaryOperator {
        static int runs;
        int own = 3;

        @Override
        public int applyAsInt(int n) {
            return n * own + ++runs;
        }
    }

    static class WithData implements IntUnaryOperator {
        static final int[] DATA;

        static {
            try {
                DATA = MethodHandles.classData(MethodHandles.lookup(), "_", int[].class);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }

        @Override
        public int applyAsInt(int n) {
            return n + DATA[n % DATA.length]++;
        }
    }

    static final List<WeakReference<Class<?>>> WEAK = new ArrayList<>();
    static final List<WeakReference<Class<?>>> STRONG = new ArrayList<>();
    static final List<WeakReference<Object>> DATA = new ArrayList<>();
    static final List<WeakReference<ClassLoader>> LOADERS = new ArrayList<>();
    static byte[] mate;
    static byte[] stranger;
    static byte[] withData;
    static byte[] host;
    static byte[] guest;

    static byte[] bytes(String name) throws IOException {
        try (InputStream in = UnloadHidden.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    static IntUnaryOperator made(Class<?> type) throws Exception {
        var constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        return (IntUnaryOperator) constructor.newInstance();
    }

    static IntUnaryOperator define(int number) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Class<?> type;
        switch (number % 10) {
            case 0:
                type = lookup.defineHiddenClass(mate, true, ClassOption.NESTMATE, ClassOption.STRONG).lookupClass();
                break;
            case 1:
            case 2:
            case 3:
                int[] data = {number, 1, 2};
                DATA.add(new WeakReference<>(data));
                type = lookup.defineHiddenClassWithClassData(withData, data, true).lookupClass();
                break;
            case 4:
            case 5:
            case 6:
                type = lookup.defineHiddenClass(stranger, false).lookupClass();
                break;
            default:
                type = lookup.defineHiddenClass(mate, true, ClassOption.NESTMATE).lookupClass();
        }
        (number % 10 == 0 ? STRONG : WEAK).add(new WeakReference<>(type));
        return made(type);
    }

    static int sum(IntUnaryOperator operator, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum = sum * 31 + operator.applyAsInt(i);
        }
        return sum;
    }

    static long many() throws Exception {
        long sum = 0;
        ArrayDeque<IntUnaryOperator> recent = new ArrayDeque<>();
        for (int i = 0; i < CLASSES; i++) {
            IntUnaryOperator operator = define(i);
            sum = sum * 31 + sum(operator, i % 50 == 7 ? 1_000 : 3);
            recent.add(operator);
            if (recent.size() > 50) {
                // Works after collections, and with the state that it had.
                sum = sum * 31 + sum(recent.remove(), 2);
            }
            if (i % 200 == 199) {
                System.gc();
            }
        }
        return sum;
    }

    static <T> long cleared(List<WeakReference<T>> references) {
        return references.stream().filter(reference -> reference.refersTo(null)).count();
    }

    static int added(int a, int b) {
        return a + b;
    }

    /** Handles, their forms and types that name hidden classes. */
    static long handles() throws Throwable {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        MethodHandle added = lookup.findStatic(UnloadHidden.class, "added", MethodType.methodType(int.class, int.class, int.class));
        MethodHandle test = MethodHandles.dropArguments(MethodHandles.constant(boolean.class, true), 0, int.class);
        MutableCallSite site = new MutableCallSite(MethodType.methodType(int.class, int.class));
        MethodHandle invoker = site.dynamicInvoker();
        long sum = 0;
        for (int i = 0; i < 300; i++) {
            MethodHandles.Lookup hidden = lookup.defineHiddenClass(stranger, true);
            Class<?> type = hidden.lookupClass();
            WEAK.add(new WeakReference<>(type));
            MethodHandle constructor = hidden.findConstructor(type, MethodType.methodType(void.class));
            MethodHandle apply = hidden.findVirtual(type, "applyAsInt", MethodType.methodType(int.class, int.class));
            // Its type names the hidden class: (Hidden, int) int.
            MethodHandle both = MethodHandles.foldArguments(MethodHandles.dropArguments(added, 2, type), MethodHandles.identity(int.class));
            MethodHandle created = MethodHandles.collectArguments(apply, 0, constructor);
            MethodHandle guarded = MethodHandles.guardWithTest(test, created, MethodHandles.insertArguments(added, 0, i));
            site.setTarget(guarded);
            int rounds = i % 50 == 0 ? 2_000 : 5;
            for (int j = 0; j < rounds; j++) {
                sum += (int) invoker.invokeExact(j);
            }
            sum += (int) both.invoke(i, (Object) null) + both.type().parameterCount() + (int) hidden.findStaticVarHandle(type, "runs", int.class).get();
            sum += (int) MethodHandles.arrayElementGetter(type.arrayType()).type().parameterCount();
        }
        return sum;
    }

    /** A host that goes takes its strong hidden classes along. */
    static int hosts() throws Exception {
        int sum = 0;
        for (int i = 0; i < 50; i++) {
            ClassLoader loader = new UnloadHidden();
            LOADERS.add(new WeakReference<>(loader));
            Class<?> type = loader.loadClass("HiddenHost");
            var define = type.getDeclaredMethod("define", byte[].class, boolean.class);
            define.setAccessible(true);
            for (boolean strong : new boolean[] {true, false}) {
                IntUnaryOperator guest = (IntUnaryOperator) define.invoke(null, UnloadHidden.guest, strong);
                sum = sum * 31 + sum(guest, 3);
                HOSTED.add(new WeakReference<>(guest.getClass()));
            }
        }
        return sum;
    }

    static final List<WeakReference<Class<?>>> HOSTED = new ArrayList<>();

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.equals("HiddenHost")) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        return known != null ? known : defineClass(name, host, 0, host.length);
    }

    static boolean someHidden() throws Exception {
        // An object is left: neither its class nor the nest goes.
        IntUnaryOperator operator = made(MethodHandles.lookup().defineHiddenClass(mate, true, ClassOption.NESTMATE).lookupClass());
        WeakReference<Class<?>> reference = new WeakReference<>(operator.getClass());
        int before = sum(operator, 10);
        for (int i = 0; i < 5; i++) {
            for (int j = 0; j < 20; j++) {
                MethodHandles.lookup().defineHiddenClass(mate, true, ClassOption.NESTMATE);
                garbage = new byte[1000];
            }
            System.gc();
        }
        System.out.println("left: " + before + " " + sum(operator, 10) + " " + !reference.refersTo(null) + " " + (operator.getClass().getNestHost() == UnloadHidden.class)
            + " " + operator.getClass().isNestmateOf(Mate.class));
        return reference.refersTo(null);
    }

    public static void main(String[] args) throws Throwable {
        mate = bytes("UnloadHidden$Mate");
        stranger = bytes("UnloadHidden$Stranger");
        withData = bytes("UnloadHidden$WithData");
        host = bytes("HiddenHost");
        guest = bytes("HiddenHost$Guest");
        ClassLoadingMXBean bean = ManagementFactory.getClassLoadingMXBean();
        long before = bean.getUnloadedClassCount();
        System.out.println("many: " + Long.toHexString(many()));
        System.out.println("handles: " + Long.toHexString(handles()));
        System.out.println("hosts: " + hosts());
        someHidden();
        for (int i = 0; i < 300; i++) {
            System.gc();
            long unloaded = bean.getUnloadedClassCount() - before;
            if (cleared(WEAK) == WEAK.size() && cleared(HOSTED) == HOSTED.size() && cleared(DATA) == DATA.size() && unloaded >= WEAK.size() + HOSTED.size()) {
                break;
            }
            Thread.sleep(30);
        }
        System.out.println("weak gone: " + cleared(WEAK) + " of " + WEAK.size());
        System.out.println("class data gone: " + cleared(DATA) + " of " + DATA.size());
        System.out.println("loaders gone: " + cleared(LOADERS) + " of " + LOADERS.size() + ", classes hidden there: " + cleared(HOSTED) + " of " + HOSTED.size());
        System.out.println("strong gone: " + cleared(STRONG) + " of " + STRONG.size());
        System.out.println("unloaded enough: " + (bean.getUnloadedClassCount() - before >= WEAK.size() + HOSTED.size()));
        long sum = 0;
        for (WeakReference<Class<?>> reference : STRONG) {
            var runs = reference.get().getDeclaredField("runs");
            runs.setAccessible(true);
            sum = sum * 31 + runs.getInt(null) + made(reference.get()).applyAsInt(1);
        }
        System.out.println("strong: " + Long.toHexString(sum));
    }
}

class HiddenHost {
    private static int count;

    private static int next() {
        return ++count;
    }

    static class Guest implements IntUnaryOperator {
        @Override
        public int applyAsInt(int n) {
            return n + next();
        }
    }

    static Object define(byte[] bytes, boolean strong) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        ClassOption[] options = strong ? new ClassOption[] {ClassOption.NESTMATE, ClassOption.STRONG} : new ClassOption[] {ClassOption.NESTMATE};
        return lookup.defineHiddenClass(bytes, true, options).lookupClass().getDeclaredConstructor().newInstance();
    }
}
