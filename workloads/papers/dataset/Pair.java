package dataset;

/** Two values in one object: an element of keyed datasets, each value an object of its own, numbers too. */
public record Pair<A, B>(A key, B value) {
    /** Mixed well: pairs of small numbers are keys too, and the usual sum of multiples has few values for them. */
    @Override
    public int hashCode() {
        int hash = key.hashCode() * 0x9E3779B9 + value.hashCode();
        hash = (hash ^ hash >>> 16) * 0x85EBCA6B;
        return hash ^ hash >>> 13;
    }
}
