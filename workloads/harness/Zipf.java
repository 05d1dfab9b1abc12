package harness;

/**
 * Ranks from 0 whose frequency falls with a power of the rank, as measured in many systems that serve people: a few
 * are asked for all the time, most hardly ever. Found by inverting the distribution approximately, as Gray and
 * others describe (Quickly Generating Billion-Record Synthetic Databases, 1994). {@code StrictMath}, since results
 * must be the same on every VM.
 */
public final class Zipf {
    private final int count;
    private final double theta;
    private final double alpha;
    private final double zetaAll;
    private final double eta;
    private final double second;

    public Zipf(int count, double theta) {
        this.count = count;
        this.theta = theta;
        alpha = 1 / (1 - theta);
        zetaAll = zeta(count);
        eta = (1 - StrictMath.pow(2.0 / count, 1 - theta)) / (1 - zeta(2) / zetaAll);
        second = 1 + StrictMath.pow(0.5, theta);
    }

    /** A rank below the count; 0 is the most frequent. */
    public int next(Rng rng) {
        double uniform = (rng.next() >>> 1) * 0x1p-31;
        double scaled = uniform * zetaAll;
        if (scaled < 1) {
            return 0;
        }
        if (scaled < second) {
            return Math.min(1, count - 1);
        }
        return Math.min(count - 1, (int) (count * StrictMath.pow(eta * uniform - eta + 1, alpha)));
    }

    /** A whole number from a rank that looks unrelated to it, so that frequent ranks do not lie beside each other. */
    public static int scatter(int rank, int bound) {
        long mixed = (rank + 1) * 0x9E3779B97F4A7C15L;
        mixed = (mixed ^ mixed >>> 30) * 0xBF58476D1CE4E5B9L;
        mixed ^= mixed >>> 27;
        return (int) ((mixed >>> 33) % bound);
    }

    private double zeta(int terms) {
        double sum = 0;
        for (int i = 1; i <= terms; i++) {
            sum += 1 / StrictMath.pow(i, theta);
        }
        return sum;
    }
}
