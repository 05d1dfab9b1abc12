import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public class BrokenClassFiles {
    static class Victim {
        static int run(int a, Object o) {
            return a + (o == null ? 1 : o.hashCode() % 1);
        }
    }

    static class Definer extends ClassLoader {
        Class<?> define(String name, byte[] b) {
            return defineClass(name, b, 0, b.length);
        }
    }

    static void attempt(String label, String name, byte[] bytes) {
        try {
            Class<?> c = new Definer().define(name, bytes);
            System.out.println(label + " defined " + c.getName());
        } catch (LinkageError e) {
            System.out.println(label + " " + e.getClass().getSimpleName() + ": " + e.getMessage());
        } catch (RuntimeException e) {
            System.out.println(label + " " + e.getClass().getSimpleName());
        }
    }

    /** The class file with another text in its constant pool. */
    static byte[] replaced(byte[] file, String from, String to) {
        String text = new String(file, StandardCharsets.ISO_8859_1);
        String old = "\u0001\0" + (char) from.length() + from;
        if (!text.contains(old)) {
            throw new IllegalArgumentException(from);
        }
        return text.replace(old, "\u0001\0" + (char) to.length() + to).getBytes(StandardCharsets.ISO_8859_1);
    }

    public static void main(String[] args) throws Exception {
        byte[] good;
        try (InputStream in = BrokenClassFiles.class.getResourceAsStream("BrokenClassFiles$Victim.class")) {
            good = in.readAllBytes();
        }
        String name = "BrokenClassFiles$Victim";
        attempt("good", name, good);
        attempt("no name", null, good);
        attempt("wrong name", "Other", good);
        byte[] b = good.clone();
        b[0] = 0;
        attempt("magic", name, b);
        b = good.clone();
        b[7] = 99;
        attempt("too new", name, b);
        b = good.clone();
        b[5] = 1;
        attempt("preview", name, b);
        b = good.clone();
        b[7] = 44;
        attempt("too old", name, b);
        attempt("empty", name, new byte[0]);
        attempt("truncated header", name, Arrays.copyOf(good, 9));
        attempt("truncated pool", name, Arrays.copyOf(good, 60));
        attempt("truncated end", name, Arrays.copyOf(good, good.length - 1));
        attempt("extra bytes", name, Arrays.copyOf(good, good.length + 1));
        b = good.clone();
        b[10] = 77;
        attempt("bad tag", name, b);
        attempt("class without a name", name, replaced(good, "(ILjava/lang/Object;)I", "(IL;)I"));
        attempt("result without a name", name, replaced(good, "(ILjava/lang/Object;)I", "(I)L;"));
        attempt("not a name", name, replaced(good, "(ILjava/lang/Object;)I", "(ILa//b;)I"));
        // For any single broken byte, the VM answers with an error or a class.
        int errors = 0;
        int classes = 0;
        for (int i = 0; i < good.length; i++) {
            b = good.clone();
            b[i] ^= 0x55;
            try {
                new Definer().define(null, b);
                classes++;
            } catch (LinkageError | SecurityException e) {
                errors++;
            }
        }
        System.out.println(errors + classes == good.length);
    }
}
