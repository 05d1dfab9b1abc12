import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * A compiler that stays: a line of input names a folder for the classes and the sources, separated by tabs; a line of
 * output gives the number of the lines of messages that follow it, none if all went well. Ends with its input.
 */
public class CompileServer {
    public static void main(String[] args) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            List<String> fields = Arrays.asList(line.split("\t"));
            StringWriter messages = new StringWriter();
            boolean passed;
            try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
                List<String> options = List.of("-nowarn", "-d", fields.get(0), "-cp", fields.get(0));
                var units = files.getJavaFileObjectsFromStrings(fields.subList(1, fields.size()));
                passed = compiler.getTask(messages, files, null, options, null, units).call();
            } catch (RuntimeException failure) {
                messages.write("the compiler failed: " + failure);
                passed = false;
            }
            String[] lines = messages.toString().split("\n");
            System.out.println(passed ? 0 : lines.length);
            if (!passed) {
                Arrays.stream(lines).forEach(System.out::println);
            }
            System.out.flush();
        }
    }
}
