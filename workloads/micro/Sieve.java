/** Array accesses: the primes below a limit (default 5,000,000). */
public class Sieve {
    public static void main(String[] args) {
        int limit = args.length > 0 ? Integer.parseInt(args[0]) : 5_000_000;
        boolean[] composite = new boolean[limit];
        int count = 0;
        for (int i = 2; i < limit; i++) {
            if (!composite[i]) {
                count++;
                for (long j = (long) i * i; j < limit; j += i) {
                    composite[(int) j] = true;
                }
            }
        }
        System.out.println(count);
    }
}
