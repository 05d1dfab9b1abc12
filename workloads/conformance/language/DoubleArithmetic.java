public class DoubleArithmetic {
    static final double[] VALUES = {0.0, -0.0, 1.0, -1.0, 0.1, 1e300, -1e-300, Double.MIN_VALUE,
        Double.MAX_VALUE, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY,
        Math.PI, 123456789.125};

    static String compare(double a, double b) {
        return (a < b ? "l" : "-") + (a <= b ? "L" : "-") + (a > b ? "g" : "-")
            + (a >= b ? "G" : "-") + (a == b ? "e" : "-") + (a != b ? "n" : "-");
    }

    public static void main(String[] args) {
        for (double a : VALUES) {
            StringBuilder line = new StringBuilder();
            long hash = 1;
            for (double b : VALUES) {
                line.append(compare(a, b)).append(' ');
                hash = hash * 31 + Double.doubleToLongBits(a + b);
                hash = hash * 31 + Double.doubleToLongBits(a - b);
                hash = hash * 31 + Double.doubleToLongBits(a * b);
                hash = hash * 31 + Double.doubleToLongBits(a / b);
                hash = hash * 31 + Double.doubleToLongBits(a % b);
                hash = hash * 31 + Double.compare(a, b);
            }
            System.out.println(a + " " + hash + " " + (int) a + " " + (long) a + " " + (float) a);
            System.out.println(line);
        }
        System.out.println(0.1 + 0.2);
        System.out.println(1.0 / 3.0);
        System.out.println(9007199254740992.0 + 1.0);
        System.out.println(5.5 % -2.0);
        System.out.println(-5.5 % 2.0);
        System.out.println((Double) Double.NaN == Double.NaN);
        System.out.println(Double.valueOf(Double.NaN).equals(Double.NaN));
        System.out.println(Double.valueOf(0.0).equals(-0.0));
        System.out.println(Double.toHexString(Math.E));
        System.out.println(1.0e23 + " " + 2.2250738585072014E-308 + " " + 100.0 + " " + 1e7 + " "
            + 1e-3 + " " + 9.999e-4 + " " + 12345678.9);
    }
}
