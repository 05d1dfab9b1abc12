package suite;

/** The sieve of Eratosthenes over booleans, and one over the bits of longs. */
public class Primes {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            int limit = Harness.scaled(8_000_000, size);
            return flags(limit) * 31L + bits(limit);
        });
    }

    private static int flags(int limit) {
        boolean[] composite = new boolean[limit + 1];
        int found = 0;
        for (int n = 2; n <= limit; n++) {
            if (composite[n]) {
                continue;
            }
            found++;
            if ((long) n * n <= limit) {
                for (int multiple = n * n; multiple <= limit; multiple += n) {
                    composite[multiple] = true;
                }
            }
        }
        return found;
    }

    private static long bits(int limit) {
        long[] composite = new long[limit / 64 + 1];
        long sum = 0;
        for (int n = 2; n <= limit; n++) {
            if ((composite[n >> 6] & 1L << n) != 0) {
                continue;
            }
            sum += n;
            for (long multiple = (long) n * n; multiple <= limit; multiple += n) {
                composite[(int) (multiple >> 6)] |= 1L << multiple;
            }
        }
        for (long word : composite) {
            sum = sum * 31 + Long.bitCount(word);
        }
        return sum;
    }
}
