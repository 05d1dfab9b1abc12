// Uses more than 256 locals and long jumps, so that wide and goto_w-sized code paths are run.
public class WideLocals {
    public static void main(String[] args) {
        long a0 = 0, a1 = 1, a2 = 2, a3 = 3, a4 = 4, a5 = 5, a6 = 6, a7 = 7, a8 = 8, a9 = 9;
        long b0 = 0, b1 = 1, b2 = 2, b3 = 3, b4 = 4, b5 = 5, b6 = 6, b7 = 7, b8 = 8, b9 = 9;
        long c0 = 0, c1 = 1, c2 = 2, c3 = 3, c4 = 4, c5 = 5, c6 = 6, c7 = 7, c8 = 8, c9 = 9;
        long d0 = 0, d1 = 1, d2 = 2, d3 = 3, d4 = 4, d5 = 5, d6 = 6, d7 = 7, d8 = 8, d9 = 9;
        long e0 = 0, e1 = 1, e2 = 2, e3 = 3, e4 = 4, e5 = 5, e6 = 6, e7 = 7, e8 = 8, e9 = 9;
        long f0 = 0, f1 = 1, f2 = 2, f3 = 3, f4 = 4, f5 = 5, f6 = 6, f7 = 7, f8 = 8, f9 = 9;
        long g0 = 0, g1 = 1, g2 = 2, g3 = 3, g4 = 4, g5 = 5, g6 = 6, g7 = 7, g8 = 8, g9 = 9;
        long h0 = 0, h1 = 1, h2 = 2, h3 = 3, h4 = 4, h5 = 5, h6 = 6, h7 = 7, h8 = 8, h9 = 9;
        long i0 = 0, i1 = 1, i2 = 2, i3 = 3, i4 = 4, i5 = 5, i6 = 6, i7 = 7, i8 = 8, i9 = 9;
        long j0 = 0, j1 = 1, j2 = 2, j3 = 3, j4 = 4, j5 = 5, j6 = 6, j7 = 7, j8 = 8, j9 = 9;
        long k0 = 0, k1 = 1, k2 = 2, k3 = 3, k4 = 4, k5 = 5, k6 = 6, k7 = 7, k8 = 8, k9 = 9;
        long l0 = 0, l1 = 1, l2 = 2, l3 = 3, l4 = 4, l5 = 5, l6 = 6, l7 = 7, l8 = 8, l9 = 9;
        long m0 = 0, m1 = 1, m2 = 2, m3 = 3, m4 = 4, m5 = 5, m6 = 6, m7 = 7, m8 = 8, m9 = 9;
        int i = 5;
        i += 1;
        i += 1000;
        i -= 30000;
        double d = 1.5;
        float f = 2.5f;
        Object o = "wide";
        int sum = 0;
        for (int k = 0; k < 10; k++) {
            sum += k + i;
            d *= 1.5;
            f += k;
            m9 += a1 + b2 + c3 + d4 + e5 + f6 + g7 + h8 + i9 + j0 + k1 + l2 + m3;
            l9 ^= m9 << k;
            if (k == 7) {
                o = o + "r" + k;
            }
        }
        System.out.println(i + " " + d + " " + f + " " + o + " " + sum + " " + m9 + " " + l9);
        long all = a0 + a2 + a4 + b0 + b9 + c9 + d9 + e9 + f9 + g9 + h9 + i1 + j1 + k9 + l1 + m1
            + a3 + a5 + a6 + a7 + a8 + a9 + b1 + b3 + b4 + b5 + b6 + b7 + b8 + c0 + c1 + c2 + c4 + c5
            + c6 + c7 + c8 + d0 + d1 + d2 + d3 + d5 + d6 + d7 + d8 + e0 + e1 + e2 + e3 + e4 + e6 + e7
            + e8 + f0 + f1 + f2 + f3 + f4 + f5 + f7 + f8 + g0 + g1 + g2 + g3 + g4 + g5 + g6 + g8 + h0
            + h1 + h2 + h3 + h4 + h5 + h6 + h7 + i0 + i2 + i3 + i4 + i5 + i6 + i7 + i8 + j2 + j3 + j4
            + j5 + j6 + j7 + j8 + j9 + k0 + k2 + k3 + k4 + k5 + k6 + k7 + k8 + l0 + l3 + l4 + l5 + l6
            + l7 + l8 + m0 + m2 + m4 + m5 + m6 + m7 + m8;
        System.out.println(all);
        try {
            Object[] array = new Object[i < 0 ? 1 : 0];
            array[1] = o;
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        } finally {
            System.out.println(m9 % 7);
        }
    }
}
