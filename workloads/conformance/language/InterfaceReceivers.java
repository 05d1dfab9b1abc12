import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** Calls through an interface check that the receiver's class implements it, whatever the method. */
public class InterfaceReceivers extends ClassLoader {
    interface Named {
        // Is called "nashCode" when it is loaded: callers find that of Object.
        int hashCode();

        String name();

        private String secret() {
            return "secret of " + getClass().getName();
        }

        static String secretOf(Named named) {
            return named.secret();
        }
    }

    interface Other {
    }

    static class Good implements Named {
        @Override
        public int hashCode() {
            return 5;
        }

        @Override
        public String name() {
            return "good";
        }
    }

    // Implements Other instead when it is loaded.
    static class Plain implements Named {
        @Override
        public int hashCode() {
            return 6;
        }

        @Override
        public String name() {
            return "plain";
        }
    }

    public static class Uses implements Runnable {
        static int hash(Named named) {
            return named.hashCode();
        }

        static int hashAgain(Named named) {
            return named.hashCode();
        }

        static void attempt(Runnable body) {
            try {
                body.run();
            } catch (IncompatibleClassChangeError | NullPointerException e) {
                System.out.println(e);
            }
        }

        @Override
        public void run() {
            Named good = new Good();
            Named[] plain = new Plain[1];
            attempt(() -> System.out.println(hash(null)));
            attempt(() -> System.out.println(hash(plain[0] = made())));
            attempt(() -> System.out.println(hash(good)));
            attempt(() -> System.out.println(hashAgain(good)));
            attempt(() -> System.out.println(good.name()));
            attempt(() -> System.out.println(made().name()));
            // Compiled in between.
            for (int round = 0; round < 3; round++) {
                attempt(() -> System.out.println(Named.secretOf(good)));
                attempt(() -> System.out.println(Named.secretOf(made())));
                int length = 0;
                for (int i = 0; i < 20_000; i++) {
                    length += Named.secretOf(good).length() + hashAgain(good);
                }
                System.out.println(length);
            }
        }

        static Named made() {
            return new Plain();
        }
    }

    InterfaceReceivers() {
        super(InterfaceReceivers.class.getClassLoader());
    }

    static final Map<String, Map<String, String>> CHANGES = Map.of(
        "InterfaceReceivers$Named", Map.of("hashCode", "nashCode"),
        "InterfaceReceivers$Plain", Map.of("Receivers$Named", "Receivers$Other"));

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("InterfaceReceivers$")) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        try (InputStream in = getResourceAsStream(name + ".class")) {
            // One byte for each of UTF-8, with any meaning.
            String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            for (Map.Entry<String, String> change : CHANGES.getOrDefault(name, Map.of()).entrySet()) {
                text = text.replace(change.getKey(), change.getValue());
            }
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    public static void main(String[] args) throws Exception {
        Class<?> uses = new InterfaceReceivers().loadClass("InterfaceReceivers$Uses");
        ((Runnable) uses.getDeclaredConstructor().newInstance()).run();
    }
}
