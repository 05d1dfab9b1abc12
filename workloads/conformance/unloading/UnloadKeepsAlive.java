// vm: -XX:CompileThreshold=200
import java.io.InputStream;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandleInfo;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.invoke.VarHandle;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.Parameter;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Proxy;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.TypeVariable;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import java.util.function.IntSupplier;
import java.util.function.Supplier;
import java.util.stream.Stream;

/** One thing is left of all that a loader has made, and keeps the loader and all its classes. Without it they are unloaded. */
public class UnloadKeepsAlive extends ClassLoader {
    /** Uses the thing that is left. */
    interface Use {
        Object use() throws Throwable;
    }

    interface Maker {
        Use make(UnloadKeepsAlive loader, Class<?> unit) throws Throwable;
    }

    public interface Counter {
        int number();

        default int twice() {
            return 2 * number();
        }
    }

    static final class Case {
        final String name;
        final WeakReference<ClassLoader> loader;
        Use use;

        Case(String name, UnloadKeepsAlive loader, Use use) {
            this.name = name;
            this.loader = new WeakReference<>(loader);
            this.use = use;
        }
    }

    record Last(StringBuilder text) {
    }

    static final List<Case> CASES = new ArrayList<>();
    static final Map<String, byte[]> BYTES = new HashMap<>();
    static final MutableCallSite SITE = new MutableCallSite(MethodHandles.constant(int.class, 1));
    static final MethodHandle INVOKER = SITE.dynamicInvoker();
    static final ClassValue<Object> VALUES = new ClassValue<>() {
        @Override
        protected Object computeValue(Class<?> type) {
            return computed;
        }
    };
    static Object computed;
    static Object left;
    static volatile Object garbage;

    final String own;
    /** Weak: what keeps the sibling's classes is that this loader's classes refer to them. */
    final WeakReference<ClassLoader> sibling;

    UnloadKeepsAlive(String own, ClassLoader sibling) {
        super(UnloadKeepsAlive.class.getClassLoader());
        this.own = own;
        this.sibling = new WeakReference<>(sibling);
    }

    static byte[] bytes(String name) throws ClassNotFoundException {
        byte[] bytes = BYTES.get(name);
        if (bytes == null) {
            try (InputStream in = UnloadKeepsAlive.class.getResourceAsStream(name + ".class")) {
                BYTES.put(name, bytes = in.readAllBytes());
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
        return bytes;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (name.startsWith(own)) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : defineClass(name, bytes(name), 0, bytes(name).length);
        }
        ClassLoader other = sibling.get();
        return other != null && name.startsWith("Kept") ? other.loadClass(name) : super.loadClass(name, resolve);
    }

    static void keep(String name, Maker maker) throws Throwable {
        UnloadKeepsAlive loader = new UnloadKeepsAlive("Kept", null);
        Class<?> unit = loader.loadClass("KeptUnit");
        open(unit.getDeclaredMethod("next")).invoke(null);
        CASES.add(new Case(name, loader, maker.make(loader, unit)));
    }

    static <T extends java.lang.reflect.AccessibleObject> T open(T object) {
        object.setAccessible(true);
        return object;
    }

    static Counter made(Class<?> unit) throws Throwable {
        return (Counter) open(unit.getDeclaredConstructor()).newInstance();
    }

    static Object call(Class<?> type, String method) throws Throwable {
        return open(type.getDeclaredMethod(method)).invoke(null);
    }

    static int next(Class<?> unit) throws Throwable {
        return (int) call(unit, "next");
    }

    static Class<?> nested(Class<?> unit, String name) throws Throwable {
        return unit.getClassLoader().loadClass("KeptUnit$" + name);
    }

    static Class<?> sibling(ClassLoader loader) throws Throwable {
        return new UnloadKeepsAlive("Sibling", loader).loadClass("SiblingUnit");
    }

    static void keepReflected() throws Throwable {
        keep("instance", (l, c) -> made(c)::twice);
        keep("class", (l, c) -> () -> next(c));
        keep("array", (l, c) -> {
            Object[] array = (Object[]) Array.newInstance(c, 3);
            return () -> next(array.getClass().getComponentType());
        });
        keep("array of arrays", (l, c) -> {
            Object array = Array.newInstance(c, 2, 2);
            return () -> next(array.getClass().getComponentType().getComponentType());
        });
        keep("array class", (l, c) -> {
            Class<?> array = c.arrayType().arrayType().arrayType();
            return () -> next(array.componentType().componentType().componentType());
        });
        keep("loader", (l, c) -> () -> l.findLoadedClass("KeptUnit").getSimpleName() + next(l.loadClass("KeptUnit")));
        keep("module", (l, c) -> {
            Module module = c.getModule();
            return () -> next(module.getClassLoader().loadClass("KeptUnit"));
        });
        keep("protection domain", (l, c) -> {
            ProtectionDomain domain = c.getProtectionDomain();
            return () -> next(domain.getClassLoader().loadClass("KeptUnit"));
        });
        keep("method", (l, c) -> {
            Method method = open(c.getDeclaredMethod("next"));
            return () -> method.invoke(null);
        });
        keep("method often called", (l, c) -> {
            Method method = open(c.getDeclaredMethod("constant"));
            int sum = 0;
            for (int i = 0; i < 100; i++) {
                sum += (int) method.invoke(null);
            }
            int before = sum;
            return () -> before + (int) method.invoke(null);
        });
        keep("field", (l, c) -> {
            Field field = open(c.getDeclaredField("count"));
            return () -> field.getInt(null) + 1;
        });
        keep("constructor", (l, c) -> {
            Constructor<?> constructor = open(c.getDeclaredConstructor());
            return () -> ((Counter) constructor.newInstance()).number();
        });
        keep("parameter", (l, c) -> {
            Parameter parameter = c.getDeclaredMethod("same", c).getParameters()[0];
            return () -> next(parameter.getType());
        });
        keep("record component", (l, c) -> {
            RecordComponent component = nested(c, "Pair").getRecordComponents()[0];
            return () -> component.getName() + next(component.getType());
        });
        keep("type variable", (l, c) -> {
            TypeVariable<?> variable = nested(c, "Box").getTypeParameters()[0];
            return () -> variable.getName() + variable.getBounds()[0].getTypeName() + ((Class<?>) variable.getGenericDeclaration()).getSimpleName();
        });
        keep("generic type", (l, c) -> {
            ParameterizedType type = (ParameterizedType) c.getGenericInterfaces()[2];
            return () -> type.getTypeName() + next((Class<?>) type.getActualTypeArguments()[0]);
        });
        keep("annotation", (l, c) -> {
            Object mark = c.getAnnotations()[0];
            return () -> mark.toString();
        });
        keep("stack frame", (l, c) -> {
            StackWalker.StackFrame frame = (StackWalker.StackFrame) call(c, "frame");
            return () -> frame.getMethodName() + next(frame.getDeclaringClass());
        });
        keep("class of a nested class", (l, c) -> {
            Class<?> pair = nested(c, "Pair");
            return () -> next(pair.getNestHost());
        });
    }

    static void keepHandles() throws Throwable {
        MethodType toInt = MethodType.methodType(int.class);
        keep("lookup", (l, c) -> {
            MethodHandles.Lookup lookup = (MethodHandles.Lookup) call(c, "lookup");
            return () -> (int) lookup.findStatic(lookup.lookupClass(), "next", toInt).invokeExact();
        });
        keep("static handle", (l, c) -> {
            MethodHandle next = ((MethodHandles.Lookup) call(c, "lookup")).findStatic(c, "next", toInt);
            return () -> (int) next.invokeExact();
        });
        keep("virtual handle", (l, c) -> {
            MethodHandle number = ((MethodHandles.Lookup) call(c, "lookup")).findVirtual(c, "number", toInt);
            return () -> number.invoke(made(number.type().parameterType(0)));
        });
        keep("constructor handle", (l, c) -> {
            MethodHandle made = ((MethodHandles.Lookup) call(c, "lookup")).findConstructor(c, MethodType.methodType(void.class))
                .asType(MethodType.methodType(Object.class));
            return () -> ((Counter) (Object) made.invokeExact()).twice();
        });
        keep("bound handle", (l, c) -> {
            MethodHandle bound = MethodHandles.lookup().findVirtual(Counter.class, "twice", toInt).bindTo(made(c));
            return () -> (int) bound.invokeExact();
        });
        keep("combined handle", (l, c) -> {
            MethodHandle next = ((MethodHandles.Lookup) call(c, "lookup")).findStatic(c, "next", toInt);
            MethodHandle sum = MethodHandles.lookup().findStatic(Integer.class, "sum", MethodType.methodType(int.class, int.class, int.class));
            MethodHandle combined = MethodHandles.filterArguments(MethodHandles.insertArguments(sum, 0, 100), 0, MethodHandles.identity(int.class));
            MethodHandle folded = MethodHandles.foldArguments(combined, next);
            return () -> (int) folded.invokeExact();
        });
        keep("method type", (l, c) -> {
            MethodType type = MethodType.methodType(void.class, int.class, c.arrayType());
            return () -> next(type.parameterType(1).componentType());
        });
        keep("handle info", (l, c) -> {
            MethodHandles.Lookup lookup = (MethodHandles.Lookup) call(c, "lookup");
            MethodHandleInfo info = lookup.revealDirect(lookup.findStatic(c, "next", toInt));
            return () -> info.getName() + next(info.getDeclaringClass());
        });
        keep("static var handle", (l, c) -> {
            VarHandle count = ((MethodHandles.Lookup) call(c, "lookup")).findStaticVarHandle(c, "count", int.class);
            return () -> (int) count.getAndAdd(1) + 1;
        });
        keep("field var handle", (l, c) -> {
            VarHandle used = ((MethodHandles.Lookup) call(c, "lookup")).findVarHandle(c, "used", int.class);
            return () -> next(used.coordinateTypes().get(0));
        });
        keep("array var handle", (l, c) -> {
            VarHandle elements = MethodHandles.arrayElementVarHandle(c.arrayType());
            return () -> next(elements.varType());
        });
        keep("lambda", (l, c) -> ((IntSupplier) call(c, "lambda"))::getAsInt);
        keep("captured", (l, c) -> ((Supplier<?>) call(c, "capturing"))::get);
        keep("method reference", (l, c) -> ((IntSupplier) call(c, "reference"))::getAsInt);
        keep("class of a lambda", (l, c) -> {
            Class<?> lambda = call(c, "lambda").getClass();
            return () -> lambda.isHidden() + " " + next(lambda.getNestHost());
        });
        keep("call site", (l, c) -> {
            MutableCallSite site = new MutableCallSite(((MethodHandles.Lookup) call(c, "lookup")).findStatic(c, "next", toInt));
            MethodHandle invoker = site.dynamicInvoker();
            return () -> (int) invoker.invokeExact();
        });
        keep("site of compiled code", (l, c) -> {
            SITE.setTarget(((MethodHandles.Lookup) call(c, "lookup")).findStatic(c, "constant", toInt));
            int sum = compiled();
            return () -> sum + compiled();
        });
        keep("hidden instance", (l, c) -> ((Counter) call(c, "hidden"))::twice);
        keep("hidden class", (l, c) -> {
            Class<?> hidden = call(c, "hidden").getClass();
            return () -> made(hidden).twice();
        });
        keep("hidden handle", (l, c) -> {
            MethodHandle number = MethodHandles.lookup().findVirtual(Counter.class, "number", toInt).bindTo(call(c, "hidden"));
            return () -> (int) number.invokeExact();
        });
    }

    static int compiled() throws Throwable {
        int sum = 0;
        for (int i = 0; i < 20_000; i++) {
            sum += (int) INVOKER.invokeExact();
        }
        return sum;
    }

    static void keepObjects() throws Throwable {
        keep("proxy", (l, c) -> {
            Class<?> named = nested(c, "Named");
            Object proxy = Proxy.newProxyInstance(l, new Class<?>[] {named}, (self, method, arguments) -> method.getName());
            return () -> open(proxy.getClass().getInterfaces()[0].getMethod("name")).invoke(proxy);
        });
        keep("enum constant", (l, c) -> {
            Enum<?> constant = (Enum<?>) nested(c, "Kind").getEnumConstants()[1];
            return () -> constant + " " + Enum.valueOf(constant.getDeclaringClass().asSubclass(Enum.class), "FIRST");
        });
        keep("enum set", (l, c) -> enumSet(nested(c, "Kind"))::toString);
        keep("enum map", (l, c) -> enumMap(nested(c, "Kind"))::toString);
        keep("record", (l, c) -> {
            Object pair = call(c, "pair");
            return () -> pair + " " + pair.equals(pair);
        });
        keep("exception", (l, c) -> {
            Throwable thrown = (Throwable) call(c, "failed");
            return () -> thrown.getMessage() + thrown.getStackTrace()[0].getMethodName();
        });
        keep("cause", (l, c) -> {
            Exception outer = new Exception((Throwable) call(c, "failed"));
            return () -> outer.getMessage();
        });
        keep("suppressed", (l, c) -> {
            Exception outer = new Exception("outer");
            outer.addSuppressed((Throwable) call(c, "failed"));
            return () -> outer.getSuppressed()[0].toString();
        });
        keep("iterator", (l, c) -> {
            Iterator<?> iterator = ((Iterable<?>) made(c)).iterator();
            iterator.next();
            return iterator::next;
        });
        keep("stream", (l, c) -> {
            Stream<?> stream = (Stream<?>) call(c, "stream");
            return () -> stream.map(Object::toString).reduce("", String::concat);
        });
        keep("future", (l, c) -> {
            CompletableFuture<Integer> first = new CompletableFuture<>();
            @SuppressWarnings("unchecked")
            CompletableFuture<Object> second = (CompletableFuture<Object>) open(c.getDeclaredMethod("after", CompletableFuture.class)).invoke(null, first);
            return () -> first.complete(5) + " " + second.get();
        });
        keep("comparator", (l, c) -> {
            @SuppressWarnings("unchecked")
            TreeMap<String, Integer> map = new TreeMap<>((Comparator<String>) call(c, "comparator"));
            map.put("a", 1);
            map.put("b", 2);
            return () -> map.put("c", 3) + map.toString();
        });
        keep("identity map", (l, c) -> {
            Map<Object, Integer> map = new IdentityHashMap<>();
            map.put(made(c), 1);
            return () -> next(map.keySet().iterator().next().getClass());
        });
        keep("reference", (l, c) -> {
            Object reference = call(c, "own");
            return () -> next(reference.getClass().getNestHost());
        });
        keep("value of a class", (l, c) -> {
            computed = made(c);
            Counter counter = (Counter) VALUES.get(UnloadKeepsAlive.class);
            computed = null;
            return counter::number;
        });
        keep("static field", (l, c) -> {
            left = made(c);
            return () -> ((Counter) left).number();
        });
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Object enumSet(Class<?> kind) {
        return EnumSet.complementOf(EnumSet.noneOf((Class) kind));
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    static Object enumMap(Class<?> kind) {
        EnumMap map = new EnumMap(kind);
        map.put((Enum) kind.getEnumConstants()[1], 1);
        return map;
    }

    static void keepAcrossLoaders() throws Throwable {
        keep("subclass", (l, c) -> {
            Object child = open(sibling(l).getClassLoader().loadClass("SiblingUnit$Child").getDeclaredConstructor()).newInstance();
            return child::toString;
        });
        keep("implements", (l, c) -> {
            Object child = open(sibling(l).getClassLoader().loadClass("SiblingUnit$Works").getDeclaredConstructor()).newInstance();
            return child::toString;
        });
        for (String method : new String[] {"called", "constant", "read", "tested", "caught", "madeArray", "handle"}) {
            keep("resolved: " + method, (l, c) -> {
                Class<?> sibling = sibling(l);
                call(sibling, method);
                return () -> call(sibling, method);
            });
        }
        keep("found by name", (l, c) -> {
            ClassLoader other = sibling(l).getClassLoader();
            Class.forName("KeptUnit$Base", true, other);
            // The other loader finds what it found before, although it has lost its sibling's loader.
            return () -> call(Class.forName("KeptUnit$Base", true, other), "bump");
        });
    }

    static void collect(int times) throws Exception {
        for (int i = 0; i < times; i++) {
            for (int j = 0; j < 200; j++) {
                garbage = new byte[1000];
            }
            // New classes come where dead ones were.
            new UnloadKeepsAlive("Kept", null).loadClass("KeptUnit");
            System.gc();
        }
    }

    static long gone() {
        return CASES.stream().filter(c -> c.loader.refersTo(null)).count();
    }

    public static void main(String[] args) throws Throwable {
        keep("nothing", (l, c) -> () -> "not kept");
        keepReflected();
        keepHandles();
        keepObjects();
        keepAcrossLoaders();
        for (int i = 0; i < 20 && !CASES.get(0).loader.refersTo(null); i++) {
            collect(1);
            Thread.sleep(10);
        }
        collect(10);
        for (Case c : CASES) {
            boolean gone = c.loader.refersTo(null);
            System.out.println(c.name + ": " + c.use.use() + (gone ? " gone" : " kept"));
        }
        collect(3);
        for (Case c : CASES) {
            c.use = null;
        }
        left = null;
        VALUES.remove(UnloadKeepsAlive.class);
        SITE.setTarget(MethodHandles.constant(int.class, 2));
        // ObjectMethods keeps the type of the record that it was asked for last.
        System.out.println(compiled() + " " + new Last(null).equals(new Last(null)));
        for (int i = 0; i < 50 && gone() < CASES.size(); i++) {
            collect(1);
            Thread.sleep(10);
        }
        System.out.println("gone " + gone() + " of " + CASES.size());
        for (Case c : CASES) {
            if (!c.loader.refersTo(null)) {
                System.out.println("left: " + c.name);
            }
        }
    }
}

@KeptUnit.Mark(text = "marked", of = KeptUnit.Pair.class)
class KeptUnit implements UnloadKeepsAlive.Counter, Iterable<String>, Comparable<KeptUnit> {
    static int count = 100;
    int used;

    @Retention(RetentionPolicy.RUNTIME)
    @interface Mark {
        String text();

        Class<?> of();
    }

    interface Named {
        String name();
    }

    enum Kind {
        FIRST, SECOND
    }

    record Pair(KeptUnit first, String second) {
    }

    static class Box<T extends Comparable<T>> {
        T value;
    }

    /** Is first needed when all else is gone. */
    static class Late {
        static int added(int number) {
            IntSupplier lambda = () -> number + 1000;
            return lambda.getAsInt();
        }
    }

    static class Failed extends RuntimeException {
        Failed() {
            super("failed " + count);
        }
    }

    static class Own extends WeakReference<Object> {
        Own() {
            super(new Object(), new ReferenceQueue<>());
        }
    }

    static class Hideable implements UnloadKeepsAlive.Counter {
        public int number() {
            return next() + Late.added(0);
        }
    }

    public static class Base {
        public static int state = 10;

        public static int bump() {
            return ++state;
        }

        protected String named() {
            return "base " + bump() + " " + Late.added(1);
        }
    }

    public interface Works {
        default String work() {
            return "works " + Base.bump();
        }
    }

    public static class Trouble extends RuntimeException {
    }

    static int next() {
        return ++count;
    }

    static int constant() {
        return 7;
    }

    static KeptUnit same(KeptUnit unit) {
        return unit;
    }

    static MethodHandles.Lookup lookup() {
        return MethodHandles.lookup();
    }

    static IntSupplier lambda() {
        return () -> next() + Late.added(0);
    }

    static Supplier<String> capturing() {
        KeptUnit unit = new KeptUnit();
        return () -> "captured " + unit.number() + " " + unit.used;
    }

    static IntSupplier reference() {
        return KeptUnit::next;
    }

    static Object own() {
        return new Own();
    }

    static Object frame() {
        return StackWalker.getInstance(StackWalker.Option.RETAIN_CLASS_REFERENCE).walk(frames -> frames.findFirst().get());
    }

    static Object hidden() throws Exception {
        Class<?> hidden = lookup().defineHiddenClass(UnloadKeepsAlive.class.getResourceAsStream("KeptUnit$Hideable.class").readAllBytes(), true,
            MethodHandles.Lookup.ClassOption.NESTMATE).lookupClass();
        return hidden.getDeclaredConstructor().newInstance();
    }

    static Object pair() {
        return new Pair(new KeptUnit(), "second");
    }

    static Throwable failed() {
        return new Failed();
    }

    static Stream<Object> stream() {
        return Stream.of(1, 2, 3).filter(n -> n != 2).map(n -> "n" + (n + next()));
    }

    static CompletableFuture<Object> after(CompletableFuture<Integer> first) {
        return first.thenApply(n -> "after " + (n + next()));
    }

    static Comparator<String> comparator() {
        return (a, b) -> b.compareTo(a) * (next() > 0 ? 1 : -1);
    }

    @Override
    public int number() {
        used++;
        return next() + Late.added(used);
    }

    @Override
    public int compareTo(KeptUnit other) {
        return used - other.used;
    }

    @Override
    public String toString() {
        return "unit " + used;
    }

    @Override
    public Iterator<String> iterator() {
        return new Iterator<>() {
            int left = 3;

            @Override
            public boolean hasNext() {
                return left > 0;
            }

            @Override
            public String next() {
                return "left " + left-- + " " + KeptUnit.next();
            }
        };
    }
}

/** Another loader's, whose parent is not the loader of those that it refers to. */
class SiblingUnit {
    static class Child extends KeptUnit.Base {
        @Override
        public String toString() {
            return "child of " + named();
        }
    }

    static class Works implements KeptUnit.Works {
        @Override
        public String toString() {
            return work();
        }
    }

    static Object called() {
        return KeptUnit.Base.bump();
    }

    static Object constant() throws Exception {
        return KeptUnit.Base.class.getMethod("bump").invoke(null);
    }

    static Object read() {
        return KeptUnit.Base.state++;
    }

    static Object tested() {
        Object object = SiblingUnit.class;
        return object instanceof KeptUnit.Base;
    }

    static Object caught() {
        try {
            Object[] none = new Object[0];
            return none[called().hashCode()];
        } catch (KeptUnit.Trouble e) {
            return "trouble";
        } catch (ArrayIndexOutOfBoundsException e) {
            return e.getMessage();
        }
    }

    static Object madeArray() {
        return new KeptUnit.Base[2][2].length;
    }

    static Object handle() {
        IntSupplier bump = KeptUnit.Base::bump;
        return bump.getAsInt();
    }
}
