import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.Comparator;

public class Methods {
    public interface Greeter {
        default String greet() {
            return "hello from " + getClass().getSimpleName();
        }
    }

    public static class Target implements Greeter {
        private int state = 5;

        public int add(int a, long b) {
            return (int) (a + b + state);
        }

        private String secret(String s, Object... rest) {
            return s + rest.length;
        }

        public static double half(float f) {
            return f / 2;
        }

        void fails() throws Exception {
            throw new java.io.IOException("inside");
        }

        public final synchronized strictfp void nothing() {}

        public byte narrow(byte b, short s, char c, boolean z) {
            return (byte) (b + s + c + (z ? 1 : 0));
        }
    }

    public static void main(String[] args) throws Exception {
        Target t = new Target();
        Method add = Target.class.getMethod("add", int.class, long.class);
        System.out.println(add.invoke(t, 1, 2L) + " " + add.invoke(t, (short) 1, 2) + " " + add);
        Method secret = Target.class.getDeclaredMethod("secret", String.class, Object[].class);
        System.out.println(secret.isVarArgs() + " " + secret.invoke(t, "s", new Object[] {1, 2}) + " " + Modifier.toString(secret.getModifiers()));
        System.out.println(Target.class.getMethod("half", float.class).invoke(null, 3f) + " " + Target.class.getMethod("greet").invoke(t));
        Method narrow = Target.class.getMethod("narrow", byte.class, short.class, char.class, boolean.class);
        System.out.println(narrow.invoke(t, (byte) 1, (short) 2, 'c', true) + " " + narrow.getReturnType());
        try {
            Target.class.getDeclaredMethod("fails").invoke(t);
        } catch (InvocationTargetException e) {
            System.out.println(e.getCause() + " " + e.getMessage());
        }
        for (Object[] bad : new Object[][] {{1}, {1, "x"}, {1, 2.0}, {null, 2L}}) {
            try {
                add.invoke(t, bad);
            } catch (IllegalArgumentException e) {
                System.out.println(e.getMessage());
            }
        }
        try {
            add.invoke(null, 1, 2L);
        } catch (NullPointerException e) {
            System.out.println("null receiver");
        }
        try {
            add.invoke("string", 1, 2L);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Target.class.getMethod("secret", String.class);
        } catch (NoSuchMethodException e) {
            System.out.println(e.getMessage());
        }
        Method[] all = Target.class.getDeclaredMethods();
        Arrays.sort(all, Comparator.comparing(Method::getName));
        for (Method m : all) {
            System.out.println(m.toGenericString() + " " + m.getParameterCount() + " " + Arrays.toString(m.getExceptionTypes()));
        }
        // Past its threshold, the accessor of a method is replaced by generated code.
        long sum = 0;
        for (int i = 0; i < 40; i++) {
            sum += (Integer) add.invoke(t, i, (long) i);
        }
        System.out.println(sum + " " + add.equals(Target.class.getMethod("add", int.class, long.class)) + " " + add.hashCode());
        System.out.println(Target.class.getMethods().length > 10);
        Method length = String.class.getMethod("length");
        System.out.println(length.invoke("four") + " " + Object.class.getMethod("hashCode").invoke("a"));
    }
}
