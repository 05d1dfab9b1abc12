import java.io.IOException;
import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;

/** Which loaders must agree on a class in a method's type: with a public lookup, none. */
public class PublicLookups extends ClassLoader {
    public static class Argument {
    }

    public static class Target {
        public Argument field;

        public void take(Argument argument) {
            System.out.println("took " + argument.getClass().getName());
        }

        public static Lookup own() {
            return MethodHandles.lookup();
        }
    }

    PublicLookups(String name) {
        super(name, PublicLookups.class.getClassLoader());
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        if (!name.startsWith("PublicLookups$")) {
            return super.loadClass(name, resolve);
        }
        Class<?> known = findLoadedClass(name);
        if (known != null) {
            return known;
        }
        try (InputStream in = getResourceAsStream(name + ".class")) {
            byte[] bytes = in.readAllBytes();
            return defineClass(name, bytes, 0, bytes.length);
        } catch (IOException e) {
            throw new ClassNotFoundException(name, e);
        }
    }

    static void find(String what, Lookup lookup, Class<?> target, Class<?> argument) throws Throwable {
        try {
            var take = lookup.findVirtual(target, "take", MethodType.methodType(void.class, argument));
            take.invoke(target.getConstructor().newInstance(), argument.getConstructor().newInstance());
            System.out.println(what + ": " + lookup.findGetter(target, "field", argument).type().returnType().getName());
        } catch (IllegalAccessException e) {
            Throwable cause = e.getCause();
            System.out.println(what + ": " + (cause == null ? e : cause.getClass()));
        } catch (IncompatibleClassChangeError e) {
            // Even the message of the failure needs a simple name.
            System.out.println(what + ": " + e);
        }
    }

    public static void main(String[] args) throws Throwable {
        PublicLookups one = new PublicLookups("one");
        PublicLookups two = new PublicLookups("two");
        Class<?> target = one.loadClass("PublicLookups$Target");
        Class<?> argument = one.loadClass("PublicLookups$Argument");
        Class<?> other = two.loadClass("PublicLookups$Target");
        two.loadClass("PublicLookups$Argument");
        Lookup open = MethodHandles.publicLookup();
        find("public", open, target, argument);
        find("public in the same loader", open.in(target), target, argument);
        find("public in another loader", open.in(other), target, argument);
        Lookup own = (Lookup) other.getMethod("own").invoke(null);
        find("of another loader", own, target, argument);
        try {
            System.out.println(target.getSimpleName());
        } catch (IncompatibleClassChangeError e) {
            // The class around them has other members of these names.
            System.out.println(e);
        }
    }
}
