// vm: -XX:CompileThreshold=50
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;

/** Arguments in registers and on the stack, between compiled code, the interpreter, reflection and handles. */
public class ManyArguments {
    interface Sum {
        double of(int a, double b, long c, float d, byte e, short f, char g, boolean h, Object i, double j,
            float k, long l, int m, double n, double o, double p, double q, double r, int s, long t);
    }

    static double sum(int a, double b, long c, float d, byte e, short f, char g, boolean h, Object i, double j,
            float k, long l, int m, double n, double o, double p, double q, double r, int s, long t) {
        return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + (h ? 8 : 0) + 9 * ((Integer) i) + 10 * j
            + 11 * k + 12 * l + 13 * m + 14 * n + 15 * o + 16 * p + 17 * q + 18 * r + 19 * s + 20 * t;
    }

    static class Member implements Sum {
        final int extra;

        Member(int extra) {
            this.extra = extra;
        }

        public double of(int a, double b, long c, float d, byte e, short f, char g, boolean h, Object i, double j,
                float k, long l, int m, double n, double o, double p, double q, double r, int s, long t) {
            return extra + sum(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t);
        }
    }

    static byte narrow(byte a, short b, char c, boolean d) {
        return (byte) (a + b + c + (d ? 1 : 0));
    }

    static float single(float a) {
        return a / 3;
    }

    static long wide(long a, int b) {
        return a << b;
    }

    static boolean flag(int a) {
        return (a & 4) != 0;
    }

    static char letter(int a) {
        return (char) (a * 7919);
    }

    static short small(int a) {
        return (short) (a * 7919);
    }

    public static void main(String[] args) throws Throwable {
        Sum[] sums = {new Member(1), ManyArguments::sum, new Member(2)};
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Method method = null;
        for (Method candidate : ManyArguments.class.getDeclaredMethods()) {
            if (candidate.getName().equals("sum")) {
                method = candidate;
            }
        }
        MethodHandle handle = lookup.unreflect(method);
        MethodType narrowType = MethodType.methodType(byte.class, byte.class, short.class, char.class, boolean.class);
        MethodHandle narrow = lookup.findStatic(ManyArguments.class, "narrow", narrowType);
        double total = 0;
        long others = 0;
        for (int n = 0; n < 2000; n++) {
            byte e = (byte) n;
            short f = (short) -n;
            char g = (char) (n * 3);
            boolean h = n % 3 == 0;
            Object i = n;
            total += sums[n % 3].of(n, n + .5, -n, n * .25f, e, f, g, h, i, 1.5, 2.5f, 1L << (n % 60), n, 1, 2, 3,
                4, 5, -n, n * 5L);
            if (n % 10 == 0) {
                total += (double) handle.invokeExact(n, n + .5, (long) -n, n * .25f, e, f, g, h, i, 1.5, 2.5f,
                    1L << (n % 60), n, 1.0, 2.0, 3.0, 4.0, 5.0, -n, n * 5L);
                total -= (Double) method.invoke(null, n, n + .5, (long) -n, n * .25f, e, f, g, h, i, 1.5, 2.5f,
                    1L << (n % 60), n, 1.0, 2.0, 3.0, 4.0, 5.0, -n, n * 5L);
            }
            others += narrow(e, f, g, h) + (byte) narrow.invokeExact(e, f, g, h);
            others += (long) single(n) + wide(n, n % 40) + (flag(n) ? 1 : 0) + letter(n) + small(n);
        }
        System.out.println(total + " " + others);
    }
}
