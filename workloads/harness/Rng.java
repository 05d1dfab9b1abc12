package harness;

/** A small generator of pseudo-random numbers, the same on every VM; each thread has its own. */
public final class Rng {
    private long state;

    public Rng(long seed) {
        state = seed;
    }

    /** The next 32 bits. */
    public int next() {
        state = state * 0x5851F42D4C957F2DL + 0x14057B7EF767814FL;
        long mixed = state ^ (state >>> 29);
        return (int) (mixed >>> 32) ^ (int) mixed;
    }

    /** A number from 0 to {@code bound - 1}. */
    public int below(int bound) {
        return (int) (((next() & 0xFFFFFFFFL) * bound) >>> 32);
    }

    /** A number from {@code low} to {@code high}, both included. */
    public int between(int low, int high) {
        return low + below(high - low + 1);
    }

    /** A number from 0 to {@code bound - 1}; small ones come more often, by about the square of the distance. */
    public int skewed(int bound) {
        double fraction = (next() >>> 5) * 0x1p-27;
        return (int) (fraction * fraction * bound);
    }

    /** So many small letters. */
    public String letters(int count) {
        char[] text = new char[count];
        for (int i = 0; i < count; i++) {
            text[i] = (char) ('a' + below(26));
        }
        return new String(text);
    }
}
