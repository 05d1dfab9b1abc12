// vm: -XX:CompileThreshold=50 -XX:Tier4InvocationThreshold=100
/** Methods and loops that are compiled quickly, and once more while they run. */
public class TwoTiers {
    static int calls;

    /** Larger than what is inlined into quick code. */
    static int step(int a, int b) {
        int x = a * 31 + b;
        x ^= x >>> 7;
        x += (x << 3) ^ b;
        x ^= x >>> 11;
        x = x * 17 + a;
        calls++;
        if (x == 0x12345) {
            throw new IllegalStateException("at " + a + " " + b);
        }
        return x ^ (x >>> 3);
    }

    /** One long call after short ones: its loop is left for better code. */
    static long loop(int n) {
        long sum = n;
        for (int i = 0; i < n; i++) {
            sum = sum * 7 + step(i, (int) sum);
        }
        return sum;
    }

    static long inlined(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i ^ step(i, n);
        }
        return sum;
    }

    static long outer(int n, String text) {
        long before = text.length() + n;
        double half = n / 2.0;
        long sum = inlined(n);
        return before + sum + (long) half + text.charAt(n % text.length());
    }

    /** The operand stack is not empty at the loop. */
    static long onStack(int n, int key) {
        return n * 3L + switch (key) {
            case 1 -> {
                long sum = 0;
                for (int i = 0; i < n; i++) {
                    sum += step(i, key);
                }
                yield sum;
            }
            default -> key;
        };
    }

    static long locked(int n, Object lock) {
        long sum = 0;
        synchronized (lock) {
            for (int i = 0; i < n; i++) {
                sum += step(i, i);
            }
            if (!Thread.holdsLock(lock)) {
                throw new AssertionError();
            }
        }
        return sum;
    }

    static synchronized long lockedMethod(int n) {
        long sum = 1;
        int i = n;
        while (i-- > 0) {
            sum ^= step(i, (int) sum);
            if (!Thread.holdsLock(TwoTiers.class)) {
                throw new AssertionError();
            }
        }
        return sum;
    }

    static long nested(int n, int[][] table) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            int[] row = table[i % table.length];
            int k = 0;
            do {
                row[k] += step(i, k);
                sum += row[k];
            } while (++k < row.length);
        }
        return sum;
    }

    static long catching(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            try {
                sum += 1000 / (i % 1000);
            } catch (ArithmeticException e) {
                sum -= step(i, i);
            }
        }
        return sum;
    }

    /** Its quick code is on the stack many times when better code comes. */
    static int recursive(int depth, int width) {
        if (depth == 0) {
            return step(width, depth);
        }
        int sum = depth;
        for (int i = 0; i < width; i++) {
            sum = sum * 31 + recursive(depth - 1, width);
        }
        return sum;
    }

    static int fib(int n) {
        return n < 2 ? step(n, 1) : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        Object lock = new Object();
        int[][] table = new int[13][17];
        long[] sums = new long[9];
        for (int round = 0; round < 300; round++) {
            int n = round == 150 || round == 299 ? 200_000 : 3;
            sums[0] += loop(n);
            sums[1] += outer(n, "tiers");
            sums[2] += onStack(n, 1);
            sums[3] += locked(n, lock);
            sums[4] += lockedMethod(n);
            sums[5] += nested(n / 10, table);
            sums[6] += catching(n);
            sums[7] += recursive(round == 150 ? 9 : 2, 3);
            sums[8] += fib(round == 160 ? 24 : 3);
        }
        for (long sum : sums) {
            System.out.println(sum);
        }
        System.out.println(calls);
    }
}
