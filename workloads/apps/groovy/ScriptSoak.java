import groovy.lang.Binding;
import groovy.lang.GroovyShell;
import java.lang.management.ClassLoadingMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;

/**
 * Compiles and runs Groovy scripts without end, as a server of scripts does, and prints every half minute what the
 * process takes. The last 20 results and their classes are kept. No call of System.gc().
 *
 * <p>Arguments: seconds (default 60), scripts a second (default 5).
 */
public class ScriptSoak {
    private static final int KEPT = 20;

    public static void main(String[] args) throws Exception {
        long seconds = args.length > 0 ? Long.parseLong(args[0]) : 60;
        long rate = args.length > 1 ? Long.parseLong(args[1]) : 5;
        long start = System.nanoTime();
        ArrayDeque<Object> kept = new ArrayDeque<>();
        long shown = 0;
        for (long script = 0; elapsed(start) < seconds * 1000; script++) {
            Binding binding = new Binding();
            binding.setVariable("n", script);
            Object result = new GroovyShell(binding).evaluate(text(script));
            if (!String.valueOf(result).equals(expected(script))) {
                throw new AssertionError("script " + script + " gives " + result);
            }
            kept.add(binding.getVariable("made"));
            if (kept.size() > KEPT) {
                kept.remove();
            }
            if (elapsed(start) >= shown * 30_000) {
                shown++;
                show(elapsed(start) / 1000, script + 1);
            }
            long early = (script + 1) * 1000 / rate - elapsed(start);
            if (early > 0) {
                Thread.sleep(early);
            }
        }
        show(seconds, -1);
    }

    private static long elapsed(long start) {
        return (System.nanoTime() - start) / 1_000_000;
    }

    private static String text(long script) {
        return String.join("\n",
            "class Made" + script + " { int x; def twice = { -> x * 2 }; String toString() { \"made $x\" } }",
            "def field" + script + " = (1..20).collect { it * n }.findAll { it % 2 == 0 }",
            "made = new Made" + script + "(x: n as int)",
            "\"${made.twice()} ${field" + script + ".sum() ?: 0} ${made}\"");
    }

    private static String expected(long script) {
        long sum = 0;
        for (long i = 1; i <= 20; i++) {
            sum += i * script % 2 == 0 ? i * script : 0;
        }
        return script * 2 + " " + sum + " made " + script;
    }

    private static void show(long seconds, long scripts) throws Exception {
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
        long pool = 0;
        for (MemoryPoolMXBean bean : ManagementFactory.getMemoryPoolMXBeans()) {
            pool += bean.getName().equals("Metaspace") ? bean.getUsage().getUsed() : 0;
        }
        String status = Files.readString(Path.of("/proc/self/status"));
        String resident = status.replaceFirst("(?s).*VmRSS:\\s*(\\d+) kB.*", "$1");
        System.out.printf("%5d s: %d scripts, classes: %d loaded, %d unloaded, %d now; resident %d MB, Metaspace %d MB%n",
            seconds, scripts, classes.getTotalLoadedClassCount(), classes.getUnloadedClassCount(),
            classes.getLoadedClassCount(), Long.parseLong(resident) >> 10, pool >> 20);
    }
}
