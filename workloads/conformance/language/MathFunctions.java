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
        nearStrict();
        powers();
        System.out.println(Math.sin(0.0) + " " + Math.cos(0.0) + " " + Math.pow(2, 10) + " "
            + Math.exp(0) + " " + Math.log(1) + " " + Math.scalb(1.5, 4));
    }

    // Math's functions are two units in the last place from StrictMath's at most, since either may be one off, and the
    // same when they are compiled.
    static void nearStrict() {
        double[][] first = new double[SAMPLES][];
        int apart = 0;
        int changed = 0;
        for (int round = 0; round < 20; round++) {
            java.util.Random random = new java.util.Random(7);
            for (int i = 0; i < SAMPLES; i++) {
                double x = (random.nextDouble() - 0.5) * Math.scalb(1.0, random.nextInt(12));
                double a = Math.abs(x);
                double[] loose = {Math.sin(x), Math.cos(x), Math.tan(x), Math.exp(x), Math.log(a),
                    Math.log10(a), Math.pow(a, x / 100)};
                double[] strict = {StrictMath.sin(x), StrictMath.cos(x), StrictMath.tan(x), StrictMath.exp(x),
                    StrictMath.log(a), StrictMath.log10(a), StrictMath.pow(a, x / 100)};
                for (int k = 0; k < loose.length; k++) {
                    if (Math.abs(loose[k] - strict[k]) > 2 * Math.ulp(strict[k])) {
                        apart++;
                    }
                    if (round > 0 && loose[k] != first[i][k]) {
                        changed++;
                    }
                }
                if (round == 0) {
                    first[i] = loose;
                }
            }
        }
        System.out.println(apart + " apart, " + changed + " changed");
    }

    static void powers() {
        double[] xs = {0, -0.0, 1, -1, 2, -2, 0.5, Double.NaN, Double.POSITIVE_INFINITY, Double.NEGATIVE_INFINITY};
        for (double x : xs) {
            for (double y : xs) {
                System.out.print(Math.pow(x, y) + " ");
            }
            System.out.println(Math.pow(x, 3) + " " + Math.exp(x) + " " + Math.log(x) + " " + Math.log10(x));
        }
        for (int n = -20; n <= 20; n += 4) {
            System.out.print(Math.log10(Double.parseDouble("1e" + n)) + " ");
        }
        System.out.println();
    }

    static final int SAMPLES = 500;
}
