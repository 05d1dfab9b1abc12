import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.IntUnaryOperator;

/**
 * ClassSoak [SECONDS [PER_SECOND]]: makes classes as a server of scripts does, for SECONDS (60), and every 10 s prints what they
 * take. With PER_SECOND, not more scripts than that in a second. No call of System.gc(): that classes are unloaded is the
 * VM's own affair. The last line says whether more was taken later than in the first part, which lasts a third of the time and until
 * classes were unloaded three times.
 *
 * Each script has a loader of its own and classes of new names: the template's class files, whose constants name a new
 * package. One of ten is run until it is compiled; the last 50 are kept, and used again.
 */
public class ClassSoak extends ClassLoader {
    static final int KEPT = 50;
    static final String[] NAMES = {"SoakScript", "SoakScript$Shape", "SoakScript$Square", "SoakScript$Strip", "SoakScript$Kind", "SoakScript$Point"};
    static final Map<String, byte[]> FILES = new TreeMap<>();
    static long bytesDefined;

    final String prefix;

    ClassSoak(long number) {
        super(ClassSoak.class.getClassLoader());
        prefix = "s" + number + "/";
    }

    /** The class file with all names of the template's classes in a package of their own. */
    static byte[] renamed(byte[] file, String prefix) throws IOException {
        DataInputStream in = new DataInputStream(new java.io.ByteArrayInputStream(file));
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(file.length + 500);
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeLong(in.readLong());
        int count = in.readUnsignedShort();
        out.writeShort(count);
        for (int i = 1; i < count; i++) {
            int tag = in.readUnsignedByte();
            out.writeByte(tag);
            switch (tag) {
                case 1:
                    out.writeUTF(in.readUTF().replace("SoakScript", prefix + "SoakScript"));
                    break;
                case 5:
                case 6:
                    out.writeLong(in.readLong());
                    i++;
                    break;
                case 7:
                case 8:
                case 16:
                case 19:
                case 20:
                    out.writeShort(in.readUnsignedShort());
                    break;
                case 15:
                    out.writeByte(in.readUnsignedByte());
                    out.writeShort(in.readUnsignedShort());
                    break;
                default:
                    out.writeInt(in.readInt());
            }
        }
        in.transferTo(out);
        return bytes.toByteArray();
    }

    /** Its own classes it looks up itself: the application's loader would keep a lock for each name it was ever asked for. */
    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.replace('.', '/').startsWith(prefix)) {
            return super.loadClass(name, resolve);
        }
        synchronized (getClassLoadingLock(name)) {
            Class<?> known = findLoadedClass(name);
            return known != null ? known : findClass(name);
        }
    }

    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
        String own = name.replace('.', '/');
        byte[] file = own.startsWith(prefix) ? FILES.get(own.substring(prefix.length())) : null;
        if (file == null) {
            throw new ClassNotFoundException(name);
        }
        try {
            byte[] bytes = renamed(file, prefix);
            bytesDefined += bytes.length;
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    static IntUnaryOperator script(long number) throws Throwable {
        ClassSoak loader = new ClassSoak(number);
        Class<?> type = loader.loadClass("s" + number + ".SoakScript");
        var constructor = type.getDeclaredConstructor();
        constructor.setAccessible(true);
        IntUnaryOperator script = (IntUnaryOperator) constructor.newInstance();
        int n = number % 10 == 0 ? 3_000 : 5;
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += script.applyAsInt(i);
        }
        Object proxy = Proxy.newProxyInstance(loader, new Class<?>[] {loader.loadClass("s" + number + ".SoakScript$Shape")}, (self, method, arguments) -> 7);
        var seldom = type.getDeclaredMethod("seldom", Object.class);
        seldom.setAccessible(true);
        sum += (int) seldom.invoke(null, proxy);
        MethodHandles.Lookup lookup = MethodHandles.lookup().defineHiddenClass(FILES.get("SoakHidden"), true);
        MethodHandle hidden = lookup.findStatic(lookup.lookupClass(), "doubled", java.lang.invoke.MethodType.methodType(int.class, int.class));
        sum += (int) hidden.invokeExact(4);
        check(number, sum, n);
        return script;
    }

    static final Map<Integer, Integer> EXPECTED = new TreeMap<>();

    static void check(long number, int sum, int n) {
        Integer before = EXPECTED.putIfAbsent(n, sum);
        if (before != null && before != sum) {
            throw new IllegalStateException("script " + number + " returned " + sum + ", others " + before);
        }
    }

    static long rssKb() throws IOException {
        for (String line : Files.readAllLines(Path.of("/proc/self/status"))) {
            if (line.startsWith("VmRSS:")) {
                return Long.parseLong(line.replaceAll("\\D", ""));
            }
        }
        return -1;
    }

    static final ClassLoadingMXBean CLASSES = ManagementFactory.getClassLoadingMXBean();

    /** Prints a line, and returns the megabytes resident. */
    static double report(double seconds, long scripts) throws IOException {
        Runtime runtime = Runtime.getRuntime();
        StringBuilder pools = new StringBuilder();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getType() == java.lang.management.MemoryType.NON_HEAP) {
                pools.append(String.format(Locale.ROOT, "; %s %.1f", pool.getName(), pool.getUsage().getUsed() / 1e6));
            }
        }
        double resident = rssKb() / 1024.0;
        System.out.printf(Locale.ROOT, "%5.0f s: %d scripts, %.1f MB of class files; classes %d, of all %d unloaded %d; MB: resident %.1f; heap %.1f of %.1f%s%n",
            seconds, scripts, bytesDefined / 1e6, CLASSES.getLoadedClassCount(), CLASSES.getTotalLoadedClassCount(), CLASSES.getUnloadedClassCount(),
            resident, (runtime.totalMemory() - runtime.freeMemory()) / 1e6, runtime.totalMemory() / 1e6, pools);
        return resident;
    }

    public static void main(String[] args) throws Throwable {
        int seconds = args.length > 0 ? Integer.parseInt(args[0]) : 60;
        int perSecond = args.length > 1 ? Integer.parseInt(args[1]) : 0;
        for (String name : NAMES) {
            FILES.put(name, bytes(name));
        }
        FILES.put("SoakHidden", bytes("SoakHidden"));
        ArrayDeque<IntUnaryOperator> kept = new ArrayDeque<>();
        long begin = System.nanoTime();
        double next = 10;
        double early = 0;
        double late = 0;
        int earlyLoaded = 0;
        int most = 0;
        int unloadings = 0;
        long unloadedBefore = 0;
        long scripts = 0;
        double now = 0;
        while (now < seconds) {
            kept.add(script(scripts++));
            if (kept.size() > KEPT) {
                kept.remove().applyAsInt(3);
            }
            now = (System.nanoTime() - begin) / 1e9;
            if (perSecond > 0 && scripts > now * perSecond) {
                Thread.sleep((long) Math.max(1, 1000.0 * scripts / perSecond - 1000 * now));
            }
            int loaded = CLASSES.getLoadedClassCount();
            long unloaded = CLASSES.getUnloadedClassCount();
            if (unloaded > unloadedBefore) {
                unloadings++;
                unloadedBefore = unloaded;
            }
            if (now < seconds / 3.0 || unloadings < 3) {
                earlyLoaded = Math.max(earlyLoaded, loaded);
                early = scripts % 20 == 0 ? Math.max(early, rssKb() / 1024.0) : early;
            } else {
                most = Math.max(most, loaded);
                late = scripts % 20 == 0 ? Math.max(late, rssKb() / 1024.0) : late;
            }
            if (now >= next) {
                next += 10;
                report(now, scripts);
            }
        }
        report(now, scripts);
        System.out.printf(Locale.ROOT, "most in the first part: %d classes, %.1f MB resident; later: %d classes, %.1f MB%n", earlyLoaded, early, most, late);
        System.out.println(most == 0 ? "too short: less than three unloadings" : most <= earlyLoaded * 1.2 + 1000 && late <= early * 1.25 + 10 ? "flat" : "grown");
    }

    static byte[] bytes(String name) throws IOException {
        try (InputStream in = ClassSoak.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }
}

class SoakHidden {
    static int doubled(int n) {
        return 2 * n;
    }
}

class SoakScript implements IntUnaryOperator {
    static int[] table = new int[256];
    int runs;

    public interface Shape {
        int area(int n);

        default int twice(int n) {
            return 2 * area(n);
        }
    }

    static class Square implements Shape {
        @Override
        public int area(int n) {
            return n * n + table[n & 255];
        }
    }

    static class Strip implements Shape {
        @Override
        public int area(int n) {
            return n + 1;
        }
    }

    enum Kind {
        LOW, HIGH
    }

    record Point(int x, String name) {
    }

    static int seldom(Object proxy) {
        Shape lambda = n -> n + table.length;
        Shape shape = (Shape) proxy;
        return shape.area(3) + lambda.twice(2) + new Point(2, "p").hashCode() - new Point(2, "p").hashCode();
    }

    @Override
    public int applyAsInt(int n) {
        runs++;
        Shape[] shapes = {new Square(), new Strip(), m -> m - runs};
        int sum = Kind.values()[n & 1].ordinal();
        for (Shape shape : shapes) {
            sum += shape.twice(n & 63);
        }
        return sum + ("script " + n + " of " + runs).length();
    }
}
