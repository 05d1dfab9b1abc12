import java.math.BigDecimal;
import java.math.BigInteger;
import java.math.MathContext;
import java.math.RoundingMode;

public class BigNumbers {
    public static void main(String[] args) {
        BigInteger f = BigInteger.ONE;
        for (int i = 2; i <= 60; i++) {
            f = f.multiply(BigInteger.valueOf(i));
        }
        System.out.println(f + " " + f.bitLength() + " " + f.getLowestSetBit());
        BigInteger a = new BigInteger("123456789012345678901234567890");
        BigInteger b = new BigInteger("-98765432109876543210");
        System.out.println(a.add(b) + " " + a.subtract(b) + " " + a.multiply(b) + " " + a.divide(b) + " " + a.mod(b.negate())
            + " " + a.remainder(b) + " " + a.gcd(b) + " " + a.compareTo(b) + " " + b.signum());
        System.out.println(a.and(b) + " " + a.or(b) + " " + a.xor(b) + " " + a.not() + " " + a.shiftLeft(70) + " " + b.shiftRight(3));
        System.out.println(a.modPow(BigInteger.TEN, BigInteger.valueOf(1000007)) + " "
            + BigInteger.valueOf(3).modInverse(BigInteger.valueOf(11)) + " " + a.sqrt() + " " + a.pow(3).toString(36) + " "
            + new BigInteger("ff", 16) + " " + BigInteger.valueOf(97).isProbablePrime(20) + " " + a.hashCode());
        BigInteger large = BigInteger.ONE.shiftLeft(3000).subtract(BigInteger.ONE);
        System.out.println(large.multiply(large).hashCode() + " " + large.pow(3).mod(a) + " " + large.toString().length());
        System.out.println(a.longValue() + " " + a.intValue() + " " + a.doubleValue());
        try {
            a.longValueExact();
        } catch (ArithmeticException e) {
            System.out.println(e.getMessage());
        }
        BigDecimal d = new BigDecimal("123.456");
        BigDecimal e = new BigDecimal("-7.89");
        System.out.println(d.add(e) + " " + d.multiply(e) + " " + d.divide(e, 10, RoundingMode.HALF_EVEN) + " "
            + d.divide(e, MathContext.DECIMAL32) + " " + d.remainder(e) + " " + d.scale() + " " + d.precision() + " " + d.negate().abs());
        try {
            BigDecimal.ONE.divide(new BigDecimal(3));
        } catch (ArithmeticException x) {
            System.out.println(x.getMessage());
        }
        for (RoundingMode mode : RoundingMode.values()) {
            if (mode != RoundingMode.UNNECESSARY) {
                System.out.print(new BigDecimal("2.5").setScale(0, mode) + "," + new BigDecimal("-1.1").setScale(0, mode) + " ");
            }
        }
        System.out.println();
        System.out.println(new BigDecimal("1E+5").toPlainString() + " " + new BigDecimal("1E+5") + " " + new BigDecimal(0.1)
            + " " + BigDecimal.valueOf(0.1) + " " + new BigDecimal("1.00").equals(BigDecimal.ONE) + " "
            + new BigDecimal("1.00").compareTo(BigDecimal.ONE) + " " + new BigDecimal("100").stripTrailingZeros() + " "
            + new BigDecimal("2").sqrt(new MathContext(30)) + " " + new BigDecimal("12345.6789").toEngineeringString());
    }
}
