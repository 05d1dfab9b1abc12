import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.lang.reflect.UndeclaredThrowableException;
import java.util.Arrays;

// zeal
public class Proxies {
    public interface Calculator {
        int add(int a, long b, double c);

        String name();

        void fails() throws java.io.IOException;

        default int twice(int x) {
            return x * 2;
        }
    }

    interface Hidden {
        Object get(byte b, char c, float f, boolean z, short s, int[] array);
    }

    public static void main(String[] args) throws Exception {
        ClassLoader loader = Proxies.class.getClassLoader();
        InvocationHandler handler = (proxy, method, a) -> {
            System.out.println("call " + method.getName() + " " + Arrays.toString(a));
            switch (method.getName()) {
                case "add":
                    return (Integer) a[0] + ((Long) a[1]).intValue() + ((Double) a[2]).intValue();
                case "name":
                    return null;
                case "twice":
                    return InvocationHandler.invokeDefault(proxy, method, a);
                case "fails":
                    throw new Exception("undeclared");
                case "toString":
                    return "proxy string";
                case "hashCode":
                    return 77;
                case "equals":
                    return proxy == a[0];
                default:
                    return "other";
            }
        };
        Calculator c = (Calculator) Proxy.newProxyInstance(loader, new Class<?>[] {Calculator.class, Comparable.class}, handler);
        System.out.println(c.add(1, 2L, 3.9) + " " + c.name() + " " + c + " " + c.hashCode() + " " + c.equals(c) + " " + c.twice(21));
        try {
            c.fails();
        } catch (UndeclaredThrowableException e) {
            System.out.println(e.getUndeclaredThrowable());
        }
        System.out.println(Proxy.isProxyClass(c.getClass()) + " " + (Proxy.getInvocationHandler(c) == handler) + " " + (c instanceof Comparable)
            + " " + c.getClass().getInterfaces().length);
        Hidden h = (Hidden) Proxy.newProxyInstance(loader, new Class<?>[] {Hidden.class}, (p, m, a) -> a.length + m.getName());
        System.out.println(h.get((byte) 1, 'c', 1f, true, (short) 2, new int[0]));
        try {
            Calculator wrong = (Calculator) Proxy.newProxyInstance(loader, new Class<?>[] {Calculator.class}, (p, m, a) -> "not an int");
            wrong.add(1, 2, 3);
        } catch (ClassCastException e) {
            System.out.println("wrong type returned");
        }
        try {
            Calculator nothing = (Calculator) Proxy.newProxyInstance(loader, new Class<?>[] {Calculator.class}, (p, m, a) -> null);
            nothing.add(1, 2, 3);
        } catch (NullPointerException e) {
            System.out.println("null for int");
        }
        try {
            Proxy.newProxyInstance(loader, new Class<?>[] {String.class}, handler);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        Method m = Calculator.class.getMethod("name");
        System.out.println(m.invoke(c));
        // Of the boot loader, in a package that holds nothing else.
        Runnable boot = (Runnable) Proxy.newProxyInstance(null, new Class<?>[] {Runnable.class}, handler);
        System.out.println(boot.getClass().getClassLoader() + " " + boot.getClass().getPackage());
        System.out.println(Arrays.asList(Package.getPackages()).contains(null));
    }
}
