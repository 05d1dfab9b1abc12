import java.io.IOException;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.StandardLocation;
import javax.tools.ToolProvider;

/**
 * Compiles many independent tests in one process: one thread per CPU, one file manager per thread, so that the class
 * library's index is read once and not once per test.
 *
 * <p>Argument: a file of lines "source, tab, folder for its classes". A folder that holds the
 * marker {@code .compiled} or {@code .failed} is left alone; every other gets one of them.
 */
public class CompileTests {
    private static final JavaCompiler COMPILER = ToolProvider.getSystemJavaCompiler();
    private static final ThreadLocal<StandardJavaFileManager> FILES =
        ThreadLocal.withInitial(() -> COMPILER.getStandardFileManager(d -> {}, null, null));

    public static void main(String[] args) throws Exception {
        List<String> lines = Files.readAllLines(Path.of(args[0]));
        AtomicInteger done = new AtomicInteger();
        ExecutorService pool =
            Executors.newFixedThreadPool(Runtime.getRuntime().availableProcessors());
        for (String line : lines) {
            String[] parts = line.split("\t");
            pool.execute(() -> {
                compile(Path.of(parts[0]), Path.of(parts[1]));
                int count = done.incrementAndGet();
                if (count % 200 == 0 || count == lines.size()) {
                    System.err.println("compiled " + count + " of " + lines.size());
                }
            });
        }
        pool.shutdown();
        pool.awaitTermination(1, TimeUnit.HOURS);
    }

    private static void compile(Path source, Path classes) {
        try {
            if (Files.exists(classes.resolve(".compiled"))
                || Files.exists(classes.resolve(".failed"))) {
                return;
            }
            Files.createDirectories(classes);
            StandardJavaFileManager files = FILES.get();
            files.setLocationFromPaths(StandardLocation.CLASS_OUTPUT, List.of(classes));
            files.setLocationFromPaths(StandardLocation.CLASS_PATH, List.of(classes));
            files.setLocationFromPaths(StandardLocation.SOURCE_PATH, List.of(source.getParent()));
            StringWriter messages = new StringWriter();
            boolean passed;
            try {
                passed = COMPILER.getTask(messages, files, d -> {}, List.of("-nowarn"), null,
                    files.getJavaFileObjects(source)).call();
            } catch (RuntimeException failure) {
                passed = false;
            }
            Files.createFile(classes.resolve(passed ? ".compiled" : ".failed"));
        } catch (IOException failure) {
            System.err.println(source + ": " + failure);
        }
    }
}
