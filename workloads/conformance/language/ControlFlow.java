public class ControlFlow {
    public static void main(String[] args) {
        int count = 0;
        outer:
        for (int i = 0; i < 10; i++) {
            for (int j = 0; j < 10; j++) {
                if (j == i) {
                    continue outer;
                }
                if (i == 7) {
                    break outer;
                }
                count += i * j;
            }
        }
        System.out.println(count);
        block: {
            if (count > 0) {
                break block;
            }
            System.out.println("unreachable");
        }
        int n = 27;
        int steps = 0;
        do {
            n = (n & 1) == 0 ? n / 2 : 3 * n + 1;
            steps++;
        } while (n != 1);
        System.out.println(steps);
        int i = 0;
        i = i++ + ++i;
        System.out.println(i);
        int[] a = {0, 0, 0};
        int k = 0;
        a[k++] = k++ + k;
        a[k] += a[0] = 4;
        System.out.println(a[0] + " " + a[1] + " " + a[2] + " " + k);
        boolean t = true;
        boolean f = false;
        System.out.println((t & f) + " " + (t | f) + " " + (t ^ f) + " " + (!t) + " "
            + (f && side("no")) + " " + (t || side("no")) + " " + (t && side("yes")) + " " + (f | side("also")));
        Object o = t ? 1 : "s";
        System.out.println(o);
        Object p = t ? 1 : 2.0;
        System.out.println(p);
        System.out.println(f ? 1 : 'a');
        for (int x = 0, y = 10; x < y; x += 3, y--) {
            System.out.print(x + ":" + y + " ");
        }
        System.out.println();
        long total = 0;
        for (char c = 'a'; c <= 'z'; c++) {
            total = total * 3 + c;
        }
        System.out.println(total);
        int evaluated = 0;
        try {
            int[] none = null;
            none[evaluated++] = evaluated++ / (evaluated - 2);
        } catch (ArithmeticException e) {
            System.out.println("right side first: " + evaluated);
        } catch (NullPointerException e) {
            System.out.println("null first: " + evaluated);
        }
        System.out.println(ack(2, 3) + " " + gcd(1071, 462));
    }

    static boolean side(String s) {
        System.out.print(s + " ");
        return true;
    }

    static int ack(int m, int n) {
        return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1));
    }

    static int gcd(int a, int b) {
        return b == 0 ? a : gcd(b, a % b);
    }
}
