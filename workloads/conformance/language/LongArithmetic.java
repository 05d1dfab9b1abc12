public class LongArithmetic {
    static final long[] VALUES = {0, 1, -1, 2, -3, 63, 64, 65, Integer.MAX_VALUE, Integer.MIN_VALUE,
        1L << 32, 1L << 62, Long.MAX_VALUE, Long.MIN_VALUE, 0x123456789abcdefL, -0x123456789L};

    static String order(long a, long b) {
        return a < b ? "<" : a > b ? ">" : "=";
    }

    public static void main(String[] args) {
        for (long a : VALUES) {
            long hash = 7;
            StringBuilder order = new StringBuilder();
            for (long b : VALUES) {
                hash = hash * 1000003 + (a + b);
                hash = hash * 1000003 + (a - b);
                hash = hash * 1000003 + (a * b);
                if (b != 0) {
                    hash = hash * 1000003 + (a / b);
                    hash = hash * 1000003 + (a % b);
                }
                hash = hash * 1000003 + (a & b) + (a | b) * 3 + (a ^ b) * 5;
                hash = hash * 1000003 + (a << b) + (a >> b) * 3 + (a >>> b) * 5;
                order.append(order(a, b));
            }
            System.out.println(a + " " + hash + " " + order + " " + (int) a + " " + (short) a
                + " " + (byte) a + " " + (int) (char) a + " " + (float) a + " " + (double) a);
        }
        try {
            System.out.println(5L / (VALUES[0]));
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Long.MIN_VALUE / -1L);
        System.out.println(Long.MIN_VALUE % -1L);
        System.out.println(Long.divideUnsigned(-1L, 10) + " " + Long.remainderUnsigned(-1L, 10));
        System.out.println(Math.multiplyHigh(Long.MAX_VALUE, 3L));
        try {
            Math.addExact(Long.MAX_VALUE, 1L);
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        try {
            Math.toIntExact(1L << 40);
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
    }
}
