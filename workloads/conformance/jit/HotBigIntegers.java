// vm: -XX:CompileThreshold=100
import java.math.BigInteger;
import java.util.Random;

/** Big integers of all lengths, often enough that their inner loops are compiled; carries and extremes among them. */
public class HotBigIntegers {
    private static final Random RANDOM = new Random(20_211_112);

    public static void main(String[] args) {
        for (int words = 1; words <= 40; words++) {
            long sum = 0;
            for (int round = 0; round < 16; round++) {
                sum = sum * 31 + operations(number(words), number(1 + RANDOM.nextInt(words)));
            }
            System.out.println(words + " words: " + Long.toHexString(sum));
        }
        for (int words : new int[] {1, 2, 3, 16, 17, 33}) {
            System.out.println("powers modulo " + words + " words: " + Long.toHexString(powers(words)));
        }
        // Longer than what is multiplied word by word.
        BigInteger long1 = number(120);
        BigInteger long2 = number(110);
        System.out.println(long1.multiply(long2).hashCode() + " " + long1.pow(3).hashCode());
        System.out.println(long1.multiply(long2).divide(long1).equals(long2));
    }

    private static long operations(BigInteger a, BigInteger b) {
        BigInteger product = a.multiply(b);
        BigInteger square = a.multiply(a);
        if (!product.divide(b).equals(a) || !square.sqrt().equals(a.abs())) {
            throw new IllegalStateException(a + " * " + b);
        }
        BigInteger[] parts = square.divideAndRemainder(b);
        if (!parts[0].multiply(b).add(parts[1]).equals(square)) {
            throw new IllegalStateException(square + " / " + b);
        }
        return product.hashCode() + 31L * square.hashCode() + a.pow(5).hashCode() + parts[1].hashCode();
    }

    private static long powers(int words) {
        long sum = 0;
        for (int round = 0; round < 4; round++) {
            BigInteger odd = number(words).abs().setBit(0).add(BigInteger.TWO);
            BigInteger base = number(words).add(odd);
            sum = sum * 31 + base.modPow(number(2).abs(), odd).hashCode();
            sum = sum * 31 + odd.subtract(BigInteger.ONE).modPow(BigInteger.TEN, odd).hashCode();
            sum = sum * 31 + base.modPow(BigInteger.valueOf(65_537), odd.add(BigInteger.ONE)).hashCode();
        }
        return sum;
    }

    /** Never 0; a third of its words are extremes. */
    private static BigInteger number(int words) {
        byte[] bytes = new byte[4 * words];
        RANDOM.nextBytes(bytes);
        for (int word = 0; word < words; word++) {
            int kind = RANDOM.nextInt(6);
            for (int i = 4 * word; kind < 2 && i < 4 * word + 4; i++) {
                bytes[i] = (byte) -kind;
            }
        }
        BigInteger number = new BigInteger(bytes);
        return number.signum() == 0 ? BigInteger.ONE : number;
    }
}
