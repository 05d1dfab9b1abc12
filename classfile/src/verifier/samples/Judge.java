import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileInputStream;
import java.io.BufferedInputStream;
import java.nio.file.Files;
import java.nio.file.Path;

/** Links damaged classes and prints what the JVM says of each, one line each. */
public class Judge {
    static final class Loader extends ClassLoader {
        final String damagedName;
        final byte[] damaged;
        final Path others;

        Loader(String damagedName, byte[] damaged, Path others) {
            super(ClassLoader.getPlatformClassLoader());
            this.damagedName = damagedName;
            this.damaged = damaged;
            this.others = others;
        }

        @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
            byte[] bytes = damaged;
            if (!name.equals(damagedName)) {
                try {
                    bytes = Files.readAllBytes(others.resolve(name.replace('.', '/') + ".class"));
                } catch (Exception e) {
                    throw new ClassNotFoundException(name);
                }
            }
            return defineClass(name, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] args) throws Exception {
        StringBuilder verdicts = new StringBuilder();
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(new FileInputStream(args[0])))) {
            while (true) {
                String name = in.readUTF();
                byte[] bytes = in.readNBytes(in.readInt());
                String verdict = "ok";
                try {
                    // Looking at the methods links the class without initializing it.
                    Class.forName(name, false, new Loader(name, bytes, Path.of(args[1]))).getDeclaredMethods();
                } catch (Throwable t) {
                    verdict = t.getClass().getName().replace('.', '/') + ": " + t.getMessage();
                }
                verdicts.append(verdict.replace("\\", "\\\\").replace("\n", "\\n")).append("\n");
            }
        } catch (EOFException end) {
            Files.writeString(Path.of(args[2]), verdicts.toString());
        }
    }
}
