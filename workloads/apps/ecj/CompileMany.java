import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.io.File;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.eclipse.jdt.core.compiler.batch.BatchCompiler;

/**
 * Lets Eclipse's compiler compile generated sources, many classes that refer to each other, again and again; runs what
 * was compiled.
 *
 * <p>Arguments: classes, rounds. The class files are the same in each round, and on every VM.
 */
public class CompileMany {
    public static void main(String[] args) throws Exception {
        int classes = args.length > 0 ? Integer.parseInt(args[0]) : 50;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 2;
        Path folder = Files.createTempDirectory("ecj");
        try {
            Path sources = Files.createDirectories(folder.resolve("source/generated"));
            Rng rng = new Rng(5);
            for (int i = 0; i < classes; i++) {
                Files.writeString(sources.resolve("Class" + i + ".java"), source(rng, i, classes));
            }
            Files.writeString(sources.resolve("Wrong.java"), "package generated; class Wrong { int x = \"text\"; Gone y; }");
            String first = null;
            long[] nanos = new long[rounds];
            for (int round = 0; round < rounds; round++) {
                Path output = Files.createDirectories(folder.resolve("classes" + round));
                long start = System.nanoTime();
                String result = compile(sources, output);
                nanos[round] = System.nanoTime() - start;
                Figures.require(first == null || first.equals(result), "round " + round + " gave " + result);
                first = result;
            }
            Figures.result("compiled", first);
            Figures.metric("compile_s", Arrays.stream(nanos).sum() / 1e9);
            Figures.metric("last_round_s", nanos[rounds - 1] / 1e9);
            Figures.latencies("round", nanos);
            Figures.result("computed", run(folder.resolve("classes0"), classes));
        } finally {
            delete(folder);
        }
    }

    private static String compile(Path sources, Path output) throws IOException {
        StringWriter messages = new StringWriter();
        PrintWriter writer = new PrintWriter(messages);
        String options = "-17 -g -proc:none -warn:none -proceedOnError -d \"" + output + "\" \"" + sources + "\"";
        boolean clean = BatchCompiler.compile(options, writer, writer, null);
        Figures.require(!clean, "the wrong source compiles");
        String text = messages.toString();
        Figures.require(text.contains("cannot convert from String to int"), text);
        Figures.require(text.contains("Gone cannot be resolved to a type") && text.contains("2 problems"), text);
        Checksum checksum = new Checksum();
        List<Path> files = classFiles(output);
        for (Path file : files) {
            checksum.add(output.relativize(file).toString()).add(Files.readAllBytes(file));
        }
        return files.size() + " class files " + checksum;
    }

    private static List<Path> classFiles(Path folder) throws IOException {
        try (Stream<Path> found = Files.walk(folder)) {
            return found.filter(p -> p.toString().endsWith(".class")).sorted().collect(Collectors.toList());
        }
    }

    private static String run(Path classes, int count) throws Exception {
        Checksum checksum = new Checksum();
        try (URLClassLoader loader = new URLClassLoader(new URL[] {classes.toUri().toURL()})) {
            for (int i = 0; i < count; i++) {
                Method method = loader.loadClass("generated.Class" + i).getMethod("compute", int.class);
                checksum.add(String.valueOf(method.invoke(null, 3 + i % 5)));
            }
        }
        return checksum.toString();
    }

    /** A class with a bit of everything: generics, lambdas, inner classes, records, switches, exceptions, strings. */
    private static String source(Rng rng, int number, int classes) {
        int other = number == 0 ? -1 : rng.below(number);
        StringBuilder text = new StringBuilder("package generated;\nimport java.util.*;\nimport java.util.function.*;\n");
        text.append("public class Class" + number + "<T extends Comparable<T>> {\n");
        text.append("  record Pair<A, B>(A first, B second) { Pair { Objects.requireNonNull(first); } }\n");
        text.append("  enum Kind { LOW { int of(int x) { return x - 1; } }, HIGH; int of(int x) { return x + 1; } }\n");
        text.append("  sealed interface Shape permits Dot, Line {}\n  record Dot(int x) implements Shape {}\n");
        text.append("  record Line(Dot a, Dot b) implements Shape {}\n");
        text.append("  private final List<T> items = new ArrayList<>();\n  T max;\n");
        text.append("  void add(T item) { items.add(item); if (max == null || item.compareTo(max) > 0) max = item; }\n");
        text.append("  static long area(Shape s) { if (s instanceof Dot d) return d.x(); if (s instanceof Line l)"
            + " return (long) l.a().x() * l.b().x(); throw new IllegalStateException(); }\n");
        int methods = rng.between(5, 25);
        for (int m = 0; m < methods; m++) {
            method(text, rng, m);
        }
        text.append("  public static String compute(int n) throws Exception {\n    long sum = 0;\n");
        text.append("    Class" + number + "<String> words = new Class" + number + "<>();\n");
        text.append("    for (int i = 0; i < n; i++) { words.add(\"w\" + i * 7 % 5); Pair<String, Integer> pair ="
            + " new Pair<>(\"k\" + i, i); sum += pair.second() + pair.hashCode() % 3; }\n");
        for (int m = 0; m < methods; m++) {
            text.append("    sum = sum * 31 + method" + m + "(n, sum);\n");
        }
        text.append("    for (Kind kind : Kind.values()) sum += kind.of(n);\n");
        text.append("    sum += area(new Line(new Dot(n), new Dot(3))) + area(new Dot(n));\n");
        text.append("    Supplier<Long> later = () -> (long) words.items.stream().mapToInt(String::length).sum();\n");
        text.append("    return sum + words.max + later.get()");
        text.append(other < 0 ? ";\n  }\n}\n" : " + (n > 1 ? Class" + other + ".compute(1) : \"\");\n  }\n}\n");
        return text.toString();
    }

    private static void method(StringBuilder text, Rng rng, int number) {
        text.append("  static long method" + number + "(int n, long seed) throws Exception {\n    long x = seed;\n");
        int statements = rng.between(3, 10);
        for (int s = 0; s < statements; s++) {
            int a = rng.between(1, 99);
            int b = rng.between(1, 9);
            switch (rng.below(7)) {
                case 0:
                    text.append("    for (int i = 0; i < n; i++) { x = x * " + a + " + i % " + b + "; }\n");
                    break;
                case 1:
                    text.append("    switch ((int) (x & 3)) { case 0: x += " + a + "; break; case 1: x ^= " + b
                        + "; default: x--; }\n");
                    break;
                case 2:
                    text.append("    x += switch (\"v\" + (x & 1)) { case \"v0\" -> " + a + "; case \"v1\" -> { int y = n;"
                        + " yield y * " + b + "; } default -> 0; };\n");
                    break;
                case 3:
                    text.append("    try { if (x % " + (b + 1) + " == 0) throw new IllegalArgumentException(\"" + a
                        + "\"); x++; } catch (IllegalArgumentException e) { x += e.getMessage().length(); }"
                        + " finally { x ^= " + a + "; }\n");
                    break;
                case 4:
                    text.append("    LongUnaryOperator f" + s + " = v -> v * " + a + " + n; x = f" + s
                        + ".applyAsLong(x);\n");
                    break;
                case 5:
                    text.append("    { Map<Integer, String> map = new TreeMap<>(); for (int i = 0; i < " + b
                        + "; i++) map.merge(i % 3, \"a\" + i, String::concat); x += map.toString().hashCode(); }\n");
                    break;
                default:
                    text.append("    { int[][] grid = new int[" + b + "][n + 1]; grid[" + (b - 1) + "][n] = " + a
                        + "; x += grid[" + (b - 1) + "][n] << (x & 7); Object o = new Object() { int z = " + b
                        + "; public int hashCode() { return z + n; } }; x += o.hashCode(); }\n");
                    break;
            }
        }
        text.append("    return x;\n  }\n");
    }

    private static void delete(Path folder) throws IOException {
        try (Stream<Path> found = Files.walk(folder)) {
            found.sorted((a, b) -> b.compareTo(a)).map(Path::toFile).forEach(File::delete);
        }
    }
}
