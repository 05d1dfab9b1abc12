public class NumberText {
    public static void main(String[] args) {
        double[] doubles = {0.1, 1e16, 123456789012345680.0, 1.0E-5, 4.9e-324, 2.2250738585072011e-308, 1.7976931348623157e308, 9007199254740993.0, 0.3, 2e-3, 1e21, 1e22, 1e23,
            5e-324, 3.0000000000000004, 1.0 / 3, 100, 1e6, 9999999, 1e7, 12345678.9};
        for (double d : doubles) {
            System.out.println(d + " " + (float) d + " " + Double.toHexString(d) + " " + Double.doubleToLongBits(d));
        }
        for (String s : new String[] {"1e400", "-1e400", "1e-400", "0x1.8p1", "  5.5  ", "1d", "2f", "NaN", "-Infinity", "1.e2", ".5", "9007199254740993", "1_0", "", "e5", "0x"}) {
            try {
                System.out.println(s + " " + Double.parseDouble(s) + " " + Float.parseFloat(s));
            } catch (NumberFormatException e) {
                System.out.println(e.getMessage());
            }
        }
        for (long l : new long[] {0, Long.MIN_VALUE, Long.MAX_VALUE, -1}) {
            System.out.println(l + " " + Long.toString(l, 7) + " " + Long.toOctalString(l) + " " + Long.toUnsignedString(l) + " " + Long.hashCode(l));
        }
        System.out.println(Float.floatToRawIntBits(Float.NaN) + " " + Double.longBitsToDouble(0x7ff0000000000001L) + " " + Float.compare(0f, -0f) + " " + Double.MIN_NORMAL
            + " " + Math.nextDown(0.0) + " " + (0.0 == -0.0) + " " + 1 / -0.0 + " " + Double.hashCode(-0.0) + " " + (float) 1e-50 + " " + (float) 16777217);
        System.out.println(0b1010 + 0xff_0 + 0_17 + 1_000L + 'a' + 1e1f + 0x1p-2);
    }
}
