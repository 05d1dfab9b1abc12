package columns;

/** A column's value, and when it was written. Nothing of it changes. */
record Cell(byte[] value, long time) {
    /** The overhead of an object without its payload, about. */
    static final int OVERHEAD_BYTES = 48;

    /** The later one of two, of which the first may be missing. */
    static Cell later(Cell a, Cell b) {
        return a == null || b.time > a.time ? b : a;
    }
}
