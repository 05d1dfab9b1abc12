import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Compiles the same sources again and again in one process: arguments are the number of times, a folder for the
 * classes, and the sources. Prints a line with the nanoseconds of each time, at last a checksum of the class files.
 */
public class CompileRepeatedly {
    public static void main(String[] args) throws IOException {
        int times = Integer.parseInt(args[0]);
        Path classes = Path.of(args[1]);
        List<String> sources = Arrays.asList(args).subList(2, args.length);
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> options = List.of("-nowarn", "-d", classes.toString());
        for (int i = 1; i <= times; i++) {
            long start = System.nanoTime();
            try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
                var units = files.getJavaFileObjectsFromStrings(sources);
                if (!compiler.getTask(null, files, diagnostic -> {}, options, null, units).call()) {
                    System.out.println("compilation " + i + " failed");
                    System.exit(1);
                }
            }
            System.out.println("iteration " + i + " " + (System.nanoTime() - start));
        }
        System.out.println("checksum " + Long.toHexString(checksum(classes)));
    }

    private static long checksum(Path folder) throws IOException {
        List<Path> files = new ArrayList<>();
        try (Stream<Path> all = Files.walk(folder)) {
            all.filter(Files::isRegularFile).sorted().forEach(files::add);
        }
        CRC32 sum = new CRC32();
        for (Path file : files) {
            sum.update(Files.readAllBytes(file));
        }
        return sum.getValue() << 20 ^ files.size();
    }
}
