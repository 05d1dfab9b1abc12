public class IntArithmetic {
    static final int[] VALUES = {0, 1, -1, 2, -2, 7, -7, 31, 32, 33, 0x7fff, 0x8000, 65535,
        Integer.MAX_VALUE, Integer.MIN_VALUE, Integer.MAX_VALUE - 1, 0x55555555, 0xAAAAAAAA};

    public static void main(String[] args) {
        for (int a : VALUES) {
            int hash = 17;
            for (int b : VALUES) {
                hash = hash * 31 + (a + b);
                hash = hash * 31 + (a - b);
                hash = hash * 31 + (a * b);
                if (b != 0) {
                    hash = hash * 31 + (a / b);
                    hash = hash * 31 + (a % b);
                }
                hash = hash * 31 + (a & b);
                hash = hash * 31 + (a | b);
                hash = hash * 31 + (a ^ b);
                hash = hash * 31 + (a << b);
                hash = hash * 31 + (a >> b);
                hash = hash * 31 + (a >>> b);
                hash += (a < b ? 1 : 0) + (a <= b ? 2 : 0) + (a == b ? 4 : 0) + (a > b ? 8 : 0);
            }
            System.out.println(a + " -> " + hash + " neg " + (-a) + " not " + (~a));
        }
        int i = 5;
        i += 3.7;
        System.out.println(i);
        i++;
        i += 1000;
        i -= 40000;
        System.out.println(i + " " + i++ + " " + ++i + " " + i-- + " " + --i);
        System.out.println(Integer.MIN_VALUE / -1);
        System.out.println(Integer.MIN_VALUE % -1);
        System.out.println(Math.abs(Integer.MIN_VALUE));
        try {
            System.out.println(1 / (i - i));
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        try {
            System.out.println(1 % (i - i));
        } catch (ArithmeticException e) {
            System.out.println(e);
        }
    }
}
