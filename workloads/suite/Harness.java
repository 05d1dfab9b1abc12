package suite;

/**
 * Runs one program of the suite: a number of iterations of the same work in one process.
 *
 * <p>Arguments: iterations (default 20), and the size of an iteration as a percentage of the usual one (default 100).
 * Each iteration prints a line with its nanoseconds; the last line is the checksum. The work is deterministic, so
 * every iteration must give the same checksum, and so must every VM.
 */
final class Harness {
    private Harness() {}

    /** One program's work. */
    interface Work {
        /** Does one iteration at this percentage of the usual size; returns a checksum of its results. */
        long iterate(int size);
    }

    static void run(String[] args, Work work) {
        int iterations = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        int size = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        long checksum = 0;
        for (int i = 1; i <= iterations; i++) {
            long start = System.nanoTime();
            long result = work.iterate(size);
            long nanos = System.nanoTime() - start;
            if (i > 1 && result != checksum) {
                System.out.println("iteration " + i + " gave " + result + " instead of " + checksum);
                System.exit(1);
            }
            checksum = result;
            System.out.println("iteration " + i + " " + nanos);
        }
        System.out.println("checksum " + Long.toHexString(checksum));
    }

    /** The given share of a usual amount, at least 1. */
    static int scaled(int usual, int size) {
        return (int) Math.max(1, (long) usual * size / 100);
    }

    /** A small generator of pseudo-random numbers, the same everywhere. */
    static final class Rng {
        private long state;

        Rng(long seed) {
            state = seed;
        }

        /** The next 32 bits. */
        int next() {
            state = state * 0x5851F42D4C957F2DL + 0x14057B7EF767814FL;
            long mixed = state ^ (state >>> 29);
            return (int) (mixed >>> 32) ^ (int) mixed;
        }

        /** A number from 0 to {@code bound - 1}. */
        int below(int bound) {
            return (int) (((next() & 0xFFFFFFFFL) * bound) >>> 32);
        }

        /** A number in [0, 1). */
        double fraction() {
            return (next() >>> 5) * 0x1p-27;
        }
    }
}
