import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.nio.charset.StandardCharsets;
import java.util.Map;

/** A failed resolution fails again each time, each time with another error; and calls through handles that are null. */
public class FailedResolutions extends ClassLoader {
    static class Missing {
    }

    static class Resource implements AutoCloseable {
        void use() {
            new Missing();
        }

        @Override
        public void close() {
            new Missing();
        }
    }

    public static class Uses implements Runnable {
        @Override
        public void run() {
            Throwable[] all = new Throwable[3];
            for (int i = 0; i < all.length; i++) {
                try {
                    new Missing();
                } catch (NoClassDefFoundError e) {
                    all[i] = e;
                    System.out.println(e + " because of " + e.getCause().getClass());
                }
            }
            System.out.println(all[1] != all[0] && all[2] != all[1]);
            try (Resource resource = new Resource()) {
                resource.use();
            } catch (NoClassDefFoundError e) {
                System.out.println(e + " and " + e.getSuppressed().length + " at " + e.getStackTrace()[0].getMethodName());
            }
        }
    }

    static class Above {
        final String same() {
            return "above";
        }

        String other() {
            return "other";
        }
    }

    static class Below extends Above {
        // Is called "same" when it is loaded.
        String zame() {
            return "below";
        }
    }

    static class Middle extends Above {
        // Is called "other" when it is loaded.
        static String zther() {
            return "static";
        }
    }

    public static class Bottom extends Middle implements Runnable {
        @Override
        public void run() {
            System.out.println(super.other());
        }
    }

    final Map<String, String> renamed;

    FailedResolutions(Map<String, String> renamed) {
        super(FailedResolutions.class.getClassLoader());
        this.renamed = renamed;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (name.endsWith("$Missing")) {
            throw new ClassNotFoundException(name);
        }
        if (!name.startsWith("FailedResolutions$")) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        try (InputStream in = getResourceAsStream(name + ".class")) {
            // One byte for each of UTF-8, with any meaning.
            String text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
            for (Map.Entry<String, String> rename : renamed.entrySet()) {
                text = text.replace(rename.getKey(), rename.getValue());
            }
            byte[] bytes = text.getBytes(StandardCharsets.ISO_8859_1);
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    static Object make(String name, Map<String, String> renamed) throws Exception {
        Class<?> loaded = new FailedResolutions(renamed).loadClass("FailedResolutions$" + name);
        var constructor = loaded.getDeclaredConstructor();
        constructor.setAccessible(true);
        return constructor.newInstance();
    }

    public static void main(String[] args) throws Exception {
        ((Runnable) make("Uses", Map.of())).run();
        try {
            System.out.println(make("Below", Map.of("zame", "same")));
        } catch (IncompatibleClassChangeError e) {
            System.out.println(e);
        }
        try {
            ((Runnable) make("Bottom", Map.of("zther", "other"))).run();
        } catch (IncompatibleClassChangeError e) {
            System.out.println(e);
        }
        throughNull();
    }

    static void throughNull() throws Exception {
        MethodHandle none = null;
        VarHandle nothing = null;
        for (int i = 0; i < 2; i++) {
            try {
                int length = (int) none.invokeExact("text");
                System.out.println(length);
            } catch (Throwable e) {
                System.out.println(e.getMessage() + " at " + e.getStackTrace()[0].getMethodName());
            }
            try {
                nothing.set(5);
            } catch (NullPointerException e) {
                System.out.println(e.getMessage() + " at " + e.getStackTrace()[0].getMethodName());
            }
        }
        MethodHandle length = MethodHandles.lookup().findVirtual(String.class, "length", MethodType.methodType(int.class));
        int sum = 0;
        for (int i = 0; i < 20_000; i++) {
            try {
                sum += measure(i % 100 == 0 ? null : length);
            } catch (NullPointerException e) {
                sum++;
            }
        }
        System.out.println(sum);
    }

    static int measure(MethodHandle handle) {
        try {
            return (int) handle.invokeExact("four");
        } catch (RuntimeException e) {
            throw e;
        } catch (Throwable e) {
            return -1;
        }
    }
}
