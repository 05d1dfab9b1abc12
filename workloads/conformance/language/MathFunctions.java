public class MathFunctions {
    public static void main(String[] args) {
        double[] xs = {0, -0.0, 0.5, -0.5, 1, -1, 2, 10, 100.25, -1e10, 1e300, Double.NaN,
            Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY, Double.MIN_VALUE};
        for (double x : xs) {
            System.out.println(x + ": " + StrictMath.sin(x) + " " + StrictMath.cos(x) + " "
                + StrictMath.tan(x) + " " + StrictMath.exp(x) + " " + StrictMath.log(x) + " "
                + StrictMath.log10(x) + " " + Math.sqrt(x) + " " + StrictMath.cbrt(x) + " "
                + StrictMath.atan(x) + " " + StrictMath.sinh(x) + " " + StrictMath.expm1(x));
            System.out.println(Math.floor(x) + " " + Math.ceil(x) + " " + Math.rint(x) + " "
                + Math.round(x) + " " + Math.abs(x) + " " + Math.signum(x) + " " + Math.ulp(x)
                + " " + Math.nextUp(x) + " " + Math.getExponent(x) + " " + Math.toRadians(x));
        }
        System.out.println(StrictMath.pow(2, 0.5) + " " + StrictMath.atan2(-1, -1) + " "
            + StrictMath.hypot(3, 4) + " " + Math.IEEEremainder(10, 3) + " " + Math.fma(2, 3, 4));
        System.out.println(Math.max(-0.0, 0.0) + " " + Math.min(-0.0, 0.0) + " "
            + Math.max(Double.NaN, 1) + " " + Math.copySign(3, -0.0));
        System.out.println(Math.floorMod(-7, 3) + " " + Math.floorDiv(-7, 3) + " " + -7 % 3 + " "
            + Math.floorMod(-7L, 3L) + " " + Math.absExact(-4));
        for (int i = 0; i < 8; i++) {
            System.out.print(Math.round(i - 3.5) + " " + Math.round(i - 3.5f) + " ");
        }
        System.out.println();
        System.out.println(Math.sin(0.0) + " " + Math.cos(0.0) + " " + Math.pow(2, 10) + " "
            + Math.exp(0) + " " + Math.log(1) + " " + Math.scalb(1.5, 4));
    }
}
