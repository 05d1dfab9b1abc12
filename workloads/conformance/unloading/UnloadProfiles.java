// vm: -XX:CompileThreshold=200
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.function.IntUnaryOperator;

/**
 * Code that lives on meets objects of classes that come and go: its inline caches, profiles and compiled code name
 * classes that are dead, and new ones with the same names and other results. Every generation's results are computed
 * without its classes too.
 */
public class UnloadProfiles extends ClassLoader {
    static final int GENERATIONS = 240;
    /** So many generations live at a time. */
    static final int LIVE = 3;
    /** Is a constant of the unit's class file, in whose place each generation has its own. */
    static final int MARK = 0x5eed5eed;

    public interface Op {
        int apply(int n);

        default int twice(int n) {
            return apply(apply(n)) + kind();
        }

        int kind();
    }

    public interface Rare {
        int rare();
    }

    public abstract static class Base {
        public abstract int value();

        public int plus(int n) {
            return value() + n;
        }
    }

    static volatile boolean done;
    static volatile Object garbage;
    static byte[][] files;
    static final String[] NAMES = {"ProfilesUnit", "ProfilesUnit$Second", "ProfilesUnit$Third", "ProfilesUnit$Failed"};

    final int seed;

    UnloadProfiles(int seed) {
        super(UnloadProfiles.class.getClassLoader());
        this.seed = seed;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        int index = Arrays.asList(NAMES).indexOf(name);
        if (index < 0) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        byte[] bytes = files[index].clone();
        for (int i = 0; i < bytes.length - 4; i++) {
            // A constant of four bytes.
            if (bytes[i] == 3 && number(bytes, i + 1) == MARK) {
                for (int j = 0; j < 4; j++) {
                    bytes[i + 1 + j] = (byte) (seed >> 24 - 8 * j);
                }
            }
        }
        return defineClass(name, bytes, 0, bytes.length);
    }

    static int number(byte[] bytes, int at) {
        return bytes[at] << 24 | (bytes[at + 1] & 0xff) << 16 | (bytes[at + 2] & 0xff) << 8 | bytes[at + 3] & 0xff;
    }

    /** Objects of three classes of a generation, and what belongs to them. */
    static final class Group {
        final int seed;
        final Object[] objects;
        final Op[] ops;
        final Base[] bases;
        final MethodHandle applied;
        final IntUnaryOperator lambda;
        final Runnable fails;

        Group(int generation) throws Throwable {
            seed = 0x100000 + generation * 77_777;
            UnloadProfiles loader = new UnloadProfiles(seed);
            LOADERS.add(new WeakReference<>(loader));
            objects = new Object[3];
            for (int i = 0; i < 3; i++) {
                var constructor = loader.loadClass(NAMES[i]).getDeclaredConstructor();
                constructor.setAccessible(true);
                objects[i] = constructor.newInstance();
            }
            // An array whose class goes with the generation.
            bases = (Base[]) java.lang.reflect.Array.newInstance(objects[0].getClass(), 2);
            bases[0] = (Base) objects[0];
            bases[1] = (Base) objects[0];
            ops = new Op[] {(Op) objects[0], (Op) objects[1], (Op) objects[2]};
            MethodHandles.Lookup lookup = MethodHandles.privateLookupIn(objects[0].getClass(), MethodHandles.lookup());
            applied = lookup.findVirtual(objects[0].getClass(), "apply", MethodType.methodType(int.class, int.class)).bindTo(objects[0]);
            lambda = (IntUnaryOperator) lookup.findStatic(objects[0].getClass(), "lambda", MethodType.methodType(IntUnaryOperator.class)).invoke();
            fails = (Runnable) objects[2];
        }
    }

    static final List<WeakReference<ClassLoader>> LOADERS = new ArrayList<>();

    static long interfaceCalls(Op[] ops, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            Op op = ops[i % ops.length];
            sum = sum * 31 + op.apply(i) + op.kind();
        }
        return sum;
    }

    static long expectedInterfaceCalls(int seed, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum = sum * 31 + applied(seed, i % 3, i) + i % 3;
        }
        return sum;
    }

    /** What apply of the object of that kind returns. */
    static int applied(int seed, int kind, int n) {
        return kind == 0 ? n + seed : kind == 1 ? n * 3 ^ seed : seed - n;
    }

    static long oneReceiver(Op op, Base base, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum = sum * 31 + op.apply(i) + op.twice(1) + base.value() + base.plus(i);
        }
        return sum;
    }

    static long expectedOneReceiver(int seed, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum = sum * 31 + (i + seed) + (1 + seed + seed) + (seed + 5) + (seed + 5 + i);
        }
        return sum;
    }

    static int typeTests(Object[] objects, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            Object object = objects[i % objects.length];
            if (object instanceof Op op) {
                sum += op.kind() + 1;
            }
            if (object instanceof Base) {
                sum += 10;
            }
            if (object instanceof Rare rare) {
                sum += rare.rare();
            }
            if (object instanceof Comparable) {
                sum += 100;
            }
            if (object.getClass() == objects[0].getClass()) {
                sum += 1000;
            }
            try {
                sum += ((Base) object).value() & 3;
            } catch (ClassCastException e) {
                sum += 4;
            }
        }
        return sum;
    }

    static int expectedTypeTests(int seed, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            int kind = i % 3;
            sum += kind + 1 + (kind < 2 ? 10 : 0) + (kind == 1 ? 7 : 0) + (kind == 0 ? 1100 : 0);
            sum += kind == 0 ? seed + 5 & 3 : kind == 1 ? 2 : 4;
        }
        return sum;
    }

    static int stores(Base[] bases, Object[] objects, int n) {
        int failed = 0;
        Object[] array = bases;
        for (int i = 0; i < n; i++) {
            try {
                array[i & 1] = objects[i % objects.length];
            } catch (ArrayStoreException e) {
                failed++;
            }
            if (array[i & 1].getClass() != array.getClass().getComponentType()) {
                failed += 1000;
            }
        }
        return failed + ((Op[]) Arrays.copyOf(objects, objects.length, Op[].class)).length;
    }

    static long handles(MethodHandle handle, IntUnaryOperator lambda, int n) throws Throwable {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += (int) handle.invokeExact(i) + lambda.applyAsInt(i);
        }
        return sum;
    }

    static long expectedHandles(int seed, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += (i + seed) + (i ^ seed);
        }
        return sum;
    }

    static long library(Object[] objects, int n) {
        long sum = 0;
        HashMap<Object, Integer> map = new HashMap<>();
        List<Object> list = new ArrayList<>();
        for (int i = 0; i < n; i++) {
            Object object = objects[i % objects.length];
            map.merge(object, i, Integer::sum);
            list.add(object);
            sum += list.indexOf(object) + object.toString().length() + ("" + object).hashCode() % 100;
        }
        sum += String.format("%s %10s", objects[0], objects[1]).hashCode() % 100;
        @SuppressWarnings("unchecked")
        List<Comparable<Object>> sorted = new ArrayList<>(List.of((Comparable<Object>) objects[0], (Comparable<Object>) objects[0]));
        Collections.sort(sorted);
        return sum + map.size() * 1000L + map.get(objects[0]);
    }

    static long expectedLibrary(int seed, int n) {
        String[] texts = {"first " + seed, "second " + seed, "third " + seed};
        long sum = 0;
        for (int i = 0; i < n; i++) {
            String text = texts[i % 3];
            sum += i % 3 + text.length() + text.hashCode() % 100;
        }
        sum += String.format("%s %10s", texts[0], texts[1]).hashCode() % 100;
        int first = 0;
        for (int i = 0; i < n; i += 3) {
            first += i;
        }
        return sum + 3000 + first;
    }

    static int exceptions(Runnable fails, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            try {
                fails.run();
            } catch (IllegalStateException e) {
                sum += e.getMessage().length() + (e.getClass() == IllegalStateException.class ? 1000 : 0);
            }
        }
        return sum;
    }

    static int locks(Object[] objects, int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            synchronized (objects[i % objects.length]) {
                synchronized (objects[i % objects.length].getClass()) {
                    sum += Thread.holdsLock(objects[i % objects.length]) ? i & 3 : 100;
                }
            }
        }
        return sum;
    }

    /** Whether all results are those of its generation. */
    static boolean check(Group group, int n) throws Throwable {
        int seed = group.seed;
        int lockSum = 0;
        for (int i = 0; i < n; i++) {
            lockSum += i & 3;
        }
        return interfaceCalls(group.ops, n) == expectedInterfaceCalls(seed, n)
            && oneReceiver(group.ops[0], group.bases[0], n) == expectedOneReceiver(seed, n)
            && typeTests(group.objects, n) == expectedTypeTests(seed, n)
            && stores(group.bases, group.objects, n) == n - (n + 2) / 3 + 3
            && handles(group.applied, group.lambda, n) == expectedHandles(seed, n)
            && library(group.objects, Math.min(n, 30)) == expectedLibrary(seed, Math.min(n, 30))
            && exceptions(group.fails, n / 10) == n / 10 * ("failed " + seed).length()
            && locks(group.objects, n) == lockSum;
    }

    /** Objects of all generations that live, in turns. */
    static long mixed(Group[] groups, int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            Group group = groups[i % groups.length];
            sum += group.ops[i % 2].apply(i) + group.bases[i & 1].plus(i) - applied(group.seed, i % 2, i) - (group.seed + 5 + i);
        }
        return sum;
    }

    static boolean generation(Group[] live, int generation) throws Throwable {
        Group group = new Group(generation);
        live[generation % LIVE] = group;
        // Some generations are met often, others only a few times.
        boolean right = check(group, generation % 8 == 0 ? 2_000 : generation % 2 == 0 ? 150 : 20);
        if (generation >= LIVE) {
            right &= mixed(live, 200) == 0 && check(live[(generation + 1) % LIVE], 40);
        }
        return right;
    }

    public static void main(String[] args) throws Throwable {
        files = new byte[NAMES.length][];
        for (int i = 0; i < NAMES.length; i++) {
            try (InputStream in = UnloadProfiles.class.getResourceAsStream(NAMES[i] + ".class")) {
                files[i] = in.readAllBytes();
            } catch (IOException e) {
                throw new IllegalStateException(e);
            }
        }
        Thread collects = new Thread(() -> {
            while (!done) {
                System.gc();
                for (int i = 0; i < 100; i++) {
                    garbage = new byte[2000];
                }
                try {
                    Thread.sleep(15);
                } catch (InterruptedException e) {
                    return;
                }
            }
        });
        collects.start();
        Group[] live = new Group[LIVE];
        int right = 0;
        for (int generation = 0; generation < GENERATIONS; generation++) {
            if (generation(live, generation)) {
                right++;
            } else {
                System.out.println("wrong: " + generation);
            }
            if (generation % 8 == 7) {
                System.gc();
            }
            if (generation % 40 == 39) {
                long gone = LOADERS.stream().filter(loader -> loader.refersTo(null)).count();
                System.out.println(generation + 1 + " generations, " + right + " right, some gone: " + (gone > 0));
            }
        }
        done = true;
        collects.join();
        Arrays.fill(live, null);
        long gone = 0;
        for (int i = 0; i < 300 && gone < GENERATIONS; i++) {
            System.gc();
            gone = LOADERS.stream().filter(loader -> loader.refersTo(null)).count();
            // A compiler may be at work on a method of a unit.
            Thread.sleep(30);
        }
        System.out.println("gone " + gone + " of " + GENERATIONS);
        for (int i = 0; i < GENERATIONS; i++) {
            if (!LOADERS.get(i).refersTo(null)) {
                System.out.println("left: " + i);
            }
        }
        // Code that has met only dead classes meets new ones.
        System.out.println(check(new Group(GENERATIONS), 500));
    }
}

class ProfilesUnit extends UnloadProfiles.Base implements UnloadProfiles.Op, Comparable<ProfilesUnit> {
    static int mark = marked();

    static int marked() {
        return 0x5eed5eed;
    }

    static IntUnaryOperator lambda() {
        int own = mark;
        return n -> n ^ own;
    }

    @Override
    public int apply(int n) {
        return n + 0x5eed5eed;
    }

    @Override
    public int kind() {
        return 0;
    }

    @Override
    public int value() {
        return mark + 5;
    }

    @Override
    public int compareTo(ProfilesUnit other) {
        return 0;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof ProfilesUnit;
    }

    @Override
    public int hashCode() {
        return mark;
    }

    @Override
    public String toString() {
        return "first " + mark;
    }

    static final class Second extends UnloadProfiles.Base implements UnloadProfiles.Op, UnloadProfiles.Rare {
        @Override
        public int apply(int n) {
            return n * 3 ^ 0x5eed5eed;
        }

        @Override
        public int kind() {
            return 1;
        }

        @Override
        public int value() {
            return 2;
        }

        @Override
        public int plus(int n) {
            return n - 1;
        }

        @Override
        public int rare() {
            return 7;
        }

        @Override
        public String toString() {
            return "second " + ProfilesUnit.mark;
        }
    }

    static class Failed extends IllegalStateException {
        Failed(String message) {
            super(message);
        }
    }

    static class Third implements UnloadProfiles.Op, Runnable {
        @Override
        public int apply(int n) {
            return ProfilesUnit.mark - n;
        }

        @Override
        public int kind() {
            return 2;
        }

        @Override
        public void run() {
            throw new Failed("failed " + ProfilesUnit.mark);
        }

        @Override
        public String toString() {
            return "third " + ProfilesUnit.mark;
        }
    }
}
