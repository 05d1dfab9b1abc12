import java.io.InputStream;

public class AccessErrors {
    public static class Owner {
        public static int open = 1;
        public int instance = 2;
        public final int constant = 3;

        public static String hello() {
            return "hello";
        }

        public String greet() {
            return "greet";
        }

        public Owner() {}
    }

    public abstract static class Shape {
        public String area() {
            return "area";
        }
    }

    public static class Round extends Shape {}

    public static class User {
        interface Body {
            Object get();
        }

        static String attempt(Body b) {
            try {
                return String.valueOf(b.get());
            } catch (LinkageError e) {
                return e.getClass().getSimpleName() + ": " + e.getMessage().replaceAll("@[0-9a-f]+", "@HASH");
            }
        }

        public static void run() {
            System.out.println(attempt(() -> Owner.open));
            System.out.println(attempt(() -> new Owner().instance));
            System.out.println(attempt(() -> Owner.hello()));
            System.out.println(attempt(() -> new Owner().greet()));
            System.out.println(attempt(() -> new Round().area()));
        }
    }

    interface Patch {
        void apply(byte[] b);
    }

    // Sets the access flags of a member: the two bytes before its name index.
    static void flags(byte[] b, int poolIndexOfName, int from, int to) {
        for (int i = 10; i + 4 < b.length; i++) {
            int flags = (b[i] & 255) << 8 | b[i + 1] & 255;
            int name = (b[i + 2] & 255) << 8 | b[i + 3] & 255;
            if (flags == from && name == poolIndexOfName && b[i + 4] == 0) {
                b[i] = (byte) (to >> 8);
                b[i + 1] = (byte) to;
                return;
            }
        }
        throw new IllegalStateException("member not found");
    }

    static int nameIndex(byte[] b, String name) {
        int count = (b[8] & 255) << 8 | b[9] & 255;
        int at = 10;
        for (int i = 1; i < count; i++) {
            int tag = b[at];
            int length = (b[at + 1] & 255) << 8 | b[at + 2] & 255;
            if (tag == 1 && new String(b, at + 3, length).equals(name)) {
                return i;
            }
            if (tag == 5 || tag == 6) {
                i++;
            }
            at += tag == 1 ? 3 + length : tag == 5 || tag == 6 ? 9 : tag == 7 || tag == 8 || tag == 16 || tag == 19 || tag == 20 ? 3 : tag == 15 ? 4 : 5;
        }
        throw new IllegalStateException(name);
    }

    static void scenario(String label, String target, Patch patch) throws Exception {
        System.out.println(label);
        ClassLoader loader = new ClassLoader("patched", AccessErrors.class.getClassLoader()) {
            @Override
            protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
                if (!name.startsWith("AccessErrors$")) {
                    return super.loadClass(name, resolve);
                }
                Class<?> known = findLoadedClass(name);
                if (known != null) {
                    return known;
                }
                try (InputStream in = getResourceAsStream(name + ".class")) {
                    byte[] b = in.readAllBytes();
                    if (name.endsWith(target)) {
                        patch.apply(b);
                    }
                    return defineClass(name, b, 0, b.length);
                } catch (java.io.IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        };
        loader.loadClass("AccessErrors$User").getMethod("run").invoke(null);
    }

    public static void main(String[] args) throws Exception {
        scenario("plain", "none", b -> {});
        scenario("static field becomes instance", "$Owner", b -> flags(b, nameIndex(b, "open"), 9, 1));
        scenario("instance field becomes static", "$Owner", b -> flags(b, nameIndex(b, "instance"), 1, 9));
        scenario("static method becomes instance", "$Owner", b -> flags(b, nameIndex(b, "hello"), 9, 1));
        scenario("instance method becomes static", "$Owner", b -> flags(b, nameIndex(b, "greet"), 1, 9));
    }
}
