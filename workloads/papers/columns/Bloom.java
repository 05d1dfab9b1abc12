package columns;

/** Says of a key that it is not in a run, or may be: with ten bits a key, wrongly in one case of a hundred. */
final class Bloom {
    private static final int BITS_EACH = 10;
    private static final int HASHES = 7;
    private final long[] words;

    Bloom(int keys) {
        words = new long[Math.max(1, (int) ((long) keys * BITS_EACH / 64 + 1))];
    }

    void add(String key) {
        long hash = hash(key);
        for (int i = 0; i < HASHES; i++) {
            long bit = bit(hash, i);
            words[(int) (bit >>> 6)] |= 1L << bit;
        }
    }

    boolean mayHave(String key) {
        long hash = hash(key);
        for (int i = 0; i < HASHES; i++) {
            long bit = bit(hash, i);
            if ((words[(int) (bit >>> 6)] & 1L << bit) == 0) {
                return false;
            }
        }
        return true;
    }

    private long bit(long hash, int number) {
        long mixed = hash + number * ((hash << 32 | hash >>> 32) | 1);
        return (mixed >>> 1) % (words.length * 64L);
    }

    private static long hash(String key) {
        long hash = 0xCBF29CE484222325L;
        for (int i = 0; i < key.length(); i++) {
            hash = (hash ^ key.charAt(i)) * 0x100000001B3L;
        }
        hash = (hash ^ hash >>> 30) * 0xBF58476D1CE4E5B9L;
        return hash ^ hash >>> 27;
    }
}
