package suite;

import java.math.BigInteger;

/** Big integers: digits of pi by a spigot, and public-key encryption with a textbook scheme. */
public class BigNumbers {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = pi(Harness.scaled(500, size));
            for (int i = Harness.scaled(5, size); i > 0; i--) {
                sum = sum * 31 + keys(i);
            }
            return sum;
        });
    }

    /** Produces digits as long as two bounds of the rest of the series agree on them. */
    private static long pi(int digits) {
        BigInteger q = BigInteger.ONE;
        BigInteger r = BigInteger.ZERO;
        BigInteger t = BigInteger.ONE;
        long sum = 0;
        int k = 0;
        for (int produced = 0; produced < digits; ) {
            k++;
            BigInteger odd = BigInteger.valueOf(2L * k + 1);
            r = q.shiftLeft(1).add(r).multiply(odd);
            q = q.multiply(BigInteger.valueOf(k));
            t = t.multiply(odd);
            if (q.compareTo(r) > 0) {
                continue;
            }
            BigInteger low = q.multiply(THREE).add(r).divide(t);
            BigInteger high = q.shiftLeft(2).add(r).divide(t);
            if (low.equals(high)) {
                sum = sum * 31 + low.intValue();
                produced++;
                q = q.multiply(BigInteger.TEN);
                r = r.subtract(low.multiply(t)).multiply(BigInteger.TEN);
            }
        }
        return sum;
    }

    /** Encrypts and decrypts with keys of 512 bits whose primes are found by counting up. */
    private static long keys(int seed) {
        BigInteger p = prime(seed * 7919L + 12_345);
        BigInteger q = prime(seed * 104_729L + 54_321);
        BigInteger n = p.multiply(q);
        BigInteger phi = p.subtract(BigInteger.ONE).multiply(q.subtract(BigInteger.ONE));
        BigInteger open = BigInteger.valueOf(65_537);
        BigInteger secret = open.modInverse(phi);
        BigInteger text = new BigInteger("1234567890123456789012345678901234567890").add(BigInteger.valueOf(seed));
        BigInteger cipher = text.modPow(open, n);
        if (!cipher.modPow(secret, n).equals(text)) {
            throw new IllegalStateException("the text is lost");
        }
        return cipher.hashCode() * 31L + n.toString().hashCode();
    }

    /** A number near a given random-looking one that passes a test of Fermat. */
    private static BigInteger prime(long seed) {
        BigInteger n = BigInteger.valueOf(seed).pow(20).setBit(255).setBit(0);
        while (n.bitLength() > 256) {
            n = n.shiftRight(n.bitLength() - 256).setBit(0);
        }
        while (!TWO.modPow(n.subtract(BigInteger.ONE), n).equals(BigInteger.ONE)) {
            n = n.add(TWO);
        }
        return n;
    }

    private static final BigInteger TWO = BigInteger.TWO;
    private static final BigInteger THREE = BigInteger.valueOf(3);
}
