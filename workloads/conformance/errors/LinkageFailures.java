import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;

public class LinkageFailures {
    public static class Library {
        public static int field = 1;
        public int instance = 2;
        private int hidden = 3;

        public static String call() {
            return "called";
        }

        public String virtual() {
            return "virtual";
        }
    }

    public interface Contract {
        String agree();
    }

    public static class Client {
        public static String[] run() {
            String[] out = new String[5];
            out[0] = attempt(() -> String.valueOf(Library.field));
            out[1] = attempt(() -> String.valueOf(new Library().instance));
            out[2] = attempt(() -> Library.call());
            out[3] = attempt(() -> new Library().virtual());
            out[4] = attempt(() -> ((Contract) () -> "agreed").agree());
            return out;
        }

        interface Body {
            String get();
        }

        static String attempt(Body b) {
            try {
                return b.get();
            } catch (LinkageError e) {
                return e.getClass().getSimpleName() + ": " + e.getMessage().replaceAll(" @[0-9a-f]+", " @HASH");
            }
        }
    }

    // Renames a member in the constant pool of Library as an incompatible new version would have.
    static class Loader extends ClassLoader {
        final String from;
        final String to;
        final boolean missing;

        Loader(String from, String to, boolean missing) {
            super("broken", LinkageFailures.class.getClassLoader());
            this.from = from;
            this.to = to;
            this.missing = missing;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("LinkageFailures$")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            boolean library = name.endsWith("$Library");
            if (library && missing) {
                throw new ClassNotFoundException(name);
            }
            try (InputStream in = getResourceAsStream(name + ".class")) {
                byte[] b = in.readAllBytes();
                if (library && from != null) {
                    b = replace(b, from, to);
                }
                return defineClass(name, b, 0, b.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }

        static byte[] replace(byte[] b, String from, String to) {
            byte[] f = entry(from);
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            for (int i = 0; i < b.length; i++) {
                boolean match = i + f.length <= b.length;
                for (int k = 0; match && k < f.length; k++) {
                    match = b[i + k] == f[k];
                }
                if (match) {
                    out.writeBytes(entry(to));
                    i += f.length - 1;
                } else {
                    out.write(b[i]);
                }
            }
            return out.toByteArray();
        }

        static byte[] entry(String s) {
            byte[] text = s.getBytes(StandardCharsets.UTF_8);
            byte[] all = new byte[text.length + 3];
            all[0] = 1;
            all[1] = (byte) (text.length >> 8);
            all[2] = (byte) text.length;
            System.arraycopy(text, 0, all, 3, text.length);
            return all;
        }
    }

    static void scenario(String label, Loader loader) throws Exception {
        System.out.println(label);
        Class<?> client = loader.loadClass("LinkageFailures$Client");
        for (int i = 0; i < 2; i++) {
            for (String s : (String[]) client.getMethod("run").invoke(null)) {
                System.out.println("  " + s);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        scenario("unchanged", new Loader(null, null, false));
        scenario("field renamed", new Loader("field", "fjeld", false));
        scenario("instance renamed", new Loader("instance", "other", false));
        scenario("method renamed", new Loader("call", "kall", false));
        scenario("virtual renamed", new Loader("virtual", "different", false));
        scenario("type changed", new Loader("()Ljava/lang/String;", "()Ljava/lang/Object;", false));
        scenario("missing", new Loader(null, null, true));
    }
}
