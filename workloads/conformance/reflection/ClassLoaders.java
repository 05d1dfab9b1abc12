import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

public class ClassLoaders {
    public static class Payload {
        static int counter;

        public static int next() {
            return ++counter;
        }

        @Override
        public String toString() {
            return "payload " + Helper.text();
        }
    }

    public static class Helper {
        static String text() {
            return "helped";
        }
    }

    static class Own extends ClassLoader {
        final List<String> asked = new ArrayList<>();

        Own() {
            super("own", ClassLoaders.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            asked.add(name);
            if (!name.startsWith("ClassLoaders$")) {
                return super.loadClass(name, resolve);
            }
            synchronized (getClassLoadingLock(name)) {
                Class<?> c = findLoadedClass(name);
                if (c != null) {
                    return c;
                }
                try (InputStream in = getResourceAsStream(name + ".class")) {
                    byte[] bytes = in.readAllBytes();
                    return defineClass(name, bytes, 0, bytes.length);
                } catch (IOException e) {
                    throw new ClassNotFoundException(name, e);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        Own a = new Own();
        Own b = new Own();
        Class<?> pa = a.loadClass("ClassLoaders$Payload");
        Class<?> pb = Class.forName("ClassLoaders$Payload", true, b);
        System.out.println((pa == pb) + " " + (pa == Payload.class) + " " + pa.getName().equals(pb.getName()) + " " + (pa.getClassLoader() == a)
            + " " + a.getName() + " " + (a.loadClass("ClassLoaders$Payload") == pa));
        System.out.println(pa.getMethod("next").invoke(null) + " " + pa.getMethod("next").invoke(null) + " " + pb.getMethod("next").invoke(null) + " " + Payload.next());
        System.out.println(pa.getDeclaredConstructor().newInstance());
        System.out.println(a.asked);
        Object o = pa.getDeclaredConstructor().newInstance();
        try {
            Payload p = (Payload) o;
        } catch (ClassCastException e) {
            System.out.println(e.getMessage().replaceAll("@[0-9a-f]+", "@HASH"));
        }
        System.out.println(pa.getPackageName().isEmpty() + " " + pa.getModule().isNamed() + " " + pa.getProtectionDomain().getCodeSource());
        byte[] bytes;
        try (InputStream in = ClassLoaders.class.getResourceAsStream("ClassLoaders$Helper.class")) {
            bytes = in.readAllBytes();
        }
        ClassLoader definer = new ClassLoader(null) {
            @Override
            protected Class<?> findClass(String name) throws ClassNotFoundException {
                System.out.println("find " + name);
                if (name.equals("twice")) {
                    defineClass("ClassLoaders$Helper", bytes, 0, bytes.length);
                    return defineClass("ClassLoaders$Helper", bytes, 0, bytes.length);
                }
                if (name.equals("Wrong")) {
                    return defineClass("Wrong", bytes, 0, bytes.length);
                }
                throw new ClassNotFoundException("no " + name);
            }
        };
        for (String name : new String[] {"absent", "Wrong", "twice", "java.lang.String"}) {
            try {
                System.out.println(definer.loadClass(name));
            } catch (ClassNotFoundException | LinkageError e) {
                System.out.println(e.getClass().getSimpleName() + " " + e.getMessage().replaceAll("ClassLoaders\\$1 @[0-9a-f]+", "LOADER"));
            }
        }
        System.out.println(ClassLoader.getSystemClassLoader().getName() + " " + ClassLoader.getPlatformClassLoader().getName() + " "
            + ClassLoader.getPlatformClassLoader().getParent() + " " + (Thread.currentThread().getContextClassLoader() == ClassLoader.getSystemClassLoader()));
        try {
            new ClassLoader() {
                Class<?> define() {
                    return defineClass("java.lang.Evil", bytes, 0, bytes.length);
                }
            }.define();
        } catch (SecurityException e) {
            System.out.println(e.getMessage());
        }
    }
}
