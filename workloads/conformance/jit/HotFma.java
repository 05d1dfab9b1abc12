// vm: -XX:CompileThreshold=100
import java.math.BigDecimal;
import java.util.Random;

/** Fused multiplications and additions of random and of extreme numbers, compared with exact arithmetic. */
public class HotFma {
    private static final double[] DOUBLES = {
        0.0, -0.0, 1.0, -1.0, 0.5, 3.0, Double.MIN_VALUE, -Double.MIN_VALUE, Double.MIN_NORMAL, Double.MAX_VALUE,
        -Double.MAX_VALUE, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.NaN, Math.nextUp(1.0),
        Math.nextDown(1.0), 0x1p-537, -0x1p512, 0x1.fffffffffffffp-1022, 0x1.0000002p0, 1e16, -1e-16,
    };
    private static final float[] FLOATS = {
        0f, -0f, 1f, -1f, 0.5f, 3f, Float.MIN_VALUE, -Float.MIN_VALUE, Float.MIN_NORMAL, Float.MAX_VALUE,
        -Float.MAX_VALUE, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, Float.NaN, Math.nextUp(1f),
        Math.nextDown(1f), 0x1p-75f, -0x1p64f, 0x1.fffffep-126f, 0x1.001p0f, 1e8f, -1e-8f,
    };
    private static final Random RANDOM = new Random(754);
    /** Exact arithmetic is slow: it checks one result of so many. HotSpot, with which all are compared, gives all. */
    private static final int EACH = 13;
    private static int checks;
    private static long sum;

    public static void main(String[] args) {
        for (double a : DOUBLES) {
            for (double b : DOUBLES) {
                for (double c : DOUBLES) {
                    check(a, b, c);
                }
            }
        }
        for (float a : FLOATS) {
            for (float b : FLOATS) {
                for (float c : FLOATS) {
                    check(a, b, c);
                }
            }
        }
        System.out.println(Long.toHexString(sum));
        for (int round = 0; round < 4000; round++) {
            double a = anyDouble();
            double b = anyDouble();
            check(a, b, anyDouble());
            // Nearly nothing is left.
            check(a, b, Math.nextUp(-a * b));
            check(1 + a * 0x1p-60, 1 - a * 0x1p-60, -1);
            float d = Float.intBitsToFloat(RANDOM.nextInt());
            float e = Float.intBitsToFloat(RANDOM.nextInt());
            check(d, e, Float.intBitsToFloat(RANDOM.nextInt()));
            check(d, e, Math.nextUp(-d * e));
            // A tie, but for what is beyond the range of a double.
            check(1 + RANDOM.nextInt(1 << 12) * 0x1p-23f, 1 + RANDOM.nextInt(1 << 12) * 0x1p-23f, d * 0x1p-80f);
        }
        System.out.println(Long.toHexString(sum));
        System.out.println(loop(100_000) + " " + floatLoop(100_000));
    }

    /** Of any size, or of one where sums are not lost. */
    private static double anyDouble() {
        double any = Double.longBitsToDouble(RANDOM.nextLong());
        return RANDOM.nextBoolean() ? any : RANDOM.nextGaussian();
    }

    private static double loop(int count) {
        double sum = 0;
        for (int i = 0; i < count; i++) {
            sum = Math.fma(i + 0.5, 1.0000001, sum * 0.999);
        }
        return sum;
    }

    private static float floatLoop(int count) {
        float sum = 0;
        for (int i = 0; i < count; i++) {
            sum = Math.fma(i + 0.5f, 1.0000001f, sum * 0.999f);
        }
        return sum;
    }

    private static void check(double a, double b, double c) {
        double found = Math.fma(a, b, c);
        sum = sum * 31 + Double.doubleToLongBits(found);
        if (++checks % EACH != 0) {
            return;
        }
        double expected = exact(a, b, c);
        if (Double.compare(found, expected) != 0 || Double.compare(StrictMath.fma(a, b, c), expected) != 0) {
            throw new IllegalStateException(a + " * " + b + " + " + c + ": " + found + ", not " + expected);
        }
    }

    private static void check(float a, float b, float c) {
        float found = Math.fma(a, b, c);
        sum = sum * 31 + Float.floatToIntBits(found);
        if (++checks % EACH != 0) {
            return;
        }
        float expected = exact(a, b, c);
        if (Float.compare(found, expected) != 0 || Float.compare(StrictMath.fma(a, b, c), expected) != 0) {
            throw new IllegalStateException(a + " * " + b + " + " + c + ": " + found + ", not " + expected);
        }
    }

    private static double exact(double a, double b, double c) {
        if (!Double.isFinite(a) || !Double.isFinite(b)) {
            return a * b + c;
        }
        if (!Double.isFinite(c)) {
            return c;
        }
        BigDecimal result = new BigDecimal(a).multiply(new BigDecimal(b)).add(new BigDecimal(c));
        // A sum of zeros has the sign that the machine gives it; what is exactly nothing is positive.
        boolean hasZeros = (a == 0 || b == 0) && c == 0;
        return hasZeros ? a * b + c : result.doubleValue();
    }

    private static float exact(float a, float b, float c) {
        if (!Float.isFinite(a) || !Float.isFinite(b)) {
            return a * b + c;
        }
        if (!Float.isFinite(c)) {
            return c;
        }
        BigDecimal result = new BigDecimal(a).multiply(new BigDecimal(b)).add(new BigDecimal(c));
        boolean hasZeros = (a == 0 || b == 0) && c == 0;
        return hasZeros ? a * b + c : result.floatValue();
    }
}
