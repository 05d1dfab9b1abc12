public class FloatArithmetic {
    static final float[] VALUES = {0f, -0f, 1f, -1f, 0.1f, 1e10f, 1e38f, Float.MIN_VALUE,
        Float.MAX_VALUE, Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY, 3.5f};

    static String compare(float a, float b) {
        return (a < b ? "l" : "-") + (a <= b ? "L" : "-") + (a > b ? "g" : "-")
            + (a >= b ? "G" : "-") + (a == b ? "e" : "-") + (a != b ? "n" : "-");
    }

    public static void main(String[] args) {
        for (float a : VALUES) {
            StringBuilder line = new StringBuilder();
            int hash = 1;
            for (float b : VALUES) {
                line.append(compare(a, b)).append(' ');
                hash = hash * 31 + Float.floatToIntBits(a + b);
                hash = hash * 31 + Float.floatToIntBits(a - b);
                hash = hash * 31 + Float.floatToIntBits(a * b);
                hash = hash * 31 + Float.floatToIntBits(a / b);
                hash = hash * 31 + Float.floatToIntBits(a % b);
                hash = hash * 31 + Float.compare(a, b);
            }
            System.out.println(a + " " + hash + " " + (int) a + " " + (long) a + " " + (double) a
                + " " + (byte) a + " " + (char) (int) a + "|" + -a);
            System.out.println(line);
        }
        System.out.println(0.1f + 0.2f);
        System.out.println(1.0f / 3.0f);
        System.out.println(16777216f + 1f);
        System.out.println(Float.MIN_VALUE / 2);
        System.out.println((int) 1e20f + " " + (long) -1e30f + " " + (short) 1e6f);
        float f = 1;
        f++;
        f += 0.5;
        System.out.println(f);
        System.out.println(Float.toHexString(0.1f) + " " + Float.intBitsToFloat(0x7f800001));
    }
}
