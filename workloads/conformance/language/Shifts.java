public class Shifts {
    public static void main(String[] args) {
        int[] amounts = {0, 1, 5, 31, 32, 33, 63, 64, 65, -1, -31, -64};
        int i = 0x80000001;
        long l = 0x8000000000000001L;
        for (int n : amounts) {
            System.out.println(n + " " + (i << n) + " " + (i >> n) + " " + (i >>> n) + " "
                + (l << n) + " " + (l >> n) + " " + (l >>> n));
            long ln = n;
            System.out.println((i << ln) + " " + (l >>> ln));
        }
        byte b = (byte) 0x80;
        System.out.println((b >> 1) + " " + (b >>> 1) + " " + (b << 1));
        b >>>= 1;
        System.out.println(b);
        short s = -1;
        s >>>= 10;
        System.out.println(s);
        char c = 0xffff;
        c >>= 4;
        System.out.println((int) c);
        c <<= 8;
        System.out.println((int) c);
        System.out.println(Integer.rotateLeft(i, 4) + " " + Long.rotateRight(l, 4) + " "
            + Integer.bitCount(i) + " " + Long.numberOfLeadingZeros(1) + " "
            + Integer.numberOfTrailingZeros(0) + " " + Integer.reverse(1) + " "
            + Long.reverseBytes(0x0102030405060708L) + " " + Integer.highestOneBit(1000));
    }
}
