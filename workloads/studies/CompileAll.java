package studies;

import harness.Checksum;
import harness.Figures;
import java.io.ByteArrayOutputStream;
import java.io.OutputStream;
import java.io.StringWriter;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.tools.DiagnosticCollector;
import javax.tools.FileObject;
import javax.tools.ForwardingJavaFileManager;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileManager;
import javax.tools.JavaFileObject;
import javax.tools.SimpleJavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * The JDK's compiler compiles this project's workloads, in this process and into memory, again and again.
 *
 * <p>Arguments: how often, and folders of sources, below the one that the property {@code workloads} names. Class
 * files are the same in each round and on every VM; they depend on the JDK, so their checksum is compared within a
 * session, not with a number that is written down.
 */
public final class CompileAll {
    private CompileAll() {}

    public static void main(String[] args) throws Exception {
        if (args.length < 2) {
            System.err.println("arguments: how often, folders of sources in the folder of the property workloads");
            System.exit(2);
        }
        int rounds = Integer.parseInt(args[0]);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        Figures.require(compiler != null, "this JDK has no compiler");
        long start = System.nanoTime();
        String first = null;
        for (int round = 0; round < rounds; round++) {
            long begin = System.nanoTime();
            Map<String, byte[]> classes = compile(compiler, sources(List.of(args).subList(1, args.length)));
            Figures.metric("round_s", Figures.seconds(begin));
            Checksum checksum = new Checksum();
            classes.forEach((name, bytes) -> checksum.add(name).add(bytes));
            String result = classes.size() + " classes " + checksum;
            Figures.require(first == null || first.equals(result), "round " + round + " gave " + result);
            first = result;
        }
        Figures.metric("run_s", Figures.seconds(start));
        Figures.result("compiled", first);
    }

    private static List<Path> sources(List<String> folders) throws Exception {
        Path root = Path.of(System.getProperty("workloads", "workloads"));
        List<Path> sources = new ArrayList<>();
        for (String folder : folders) {
            try (Stream<Path> files = Files.walk(root.resolve(folder))) {
                sources.addAll(files.filter(file -> file.toString().endsWith(".java")).collect(Collectors.toList()));
            }
        }
        sources.sort(null);
        return sources;
    }

    private static Map<String, byte[]> compile(JavaCompiler compiler, List<Path> sources) throws Exception {
        DiagnosticCollector<JavaFileObject> messages = new DiagnosticCollector<>();
        StringWriter out = new StringWriter();
        try (StandardJavaFileManager standard = compiler.getStandardFileManager(messages, null, null);
                Memory memory = new Memory(standard)) {
            boolean fine = compiler.getTask(out, memory, messages, List.of("-proc:none", "-nowarn"), null,
                standard.getJavaFileObjectsFromPaths(sources)).call();
            Figures.peak();
            Figures.require(fine, messages.getDiagnostics() + " " + out);
            Map<String, byte[]> classes = new TreeMap<>();
            memory.classes.forEach((name, bytes) -> classes.put(name, bytes.toByteArray()));
            return classes;
        }
    }

    /** The place of class files: only the heap. */
    private static final class Memory extends ForwardingJavaFileManager<JavaFileManager> {
        final Map<String, ByteArrayOutputStream> classes = new TreeMap<>();

        Memory(JavaFileManager standard) {
            super(standard);
        }

        @Override
        public JavaFileObject getJavaFileForOutput(Location location, String name, JavaFileObject.Kind kind,
                FileObject sibling) {
            return new SimpleJavaFileObject(URI.create("memory:///" + name.replace('.', '/') + kind.extension), kind) {
                @Override
                public OutputStream openOutputStream() {
                    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
                    classes.put(name, bytes);
                    return bytes;
                }
            };
        }
    }
}
