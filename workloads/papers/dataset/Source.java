package dataset;

import java.util.Iterator;

/** How the elements of a dataset are computed, again and again if need be: a step of its lineage. */
interface Source<T> {
    /** Prepares the inputs of {@link #compute} from all partitions of others. Called between stages, by one thread. */
    void prepare() throws InterruptedException;

    /** The elements of a partition in an order that is always the same. Called by tasks, for a partition by one. */
    Iterator<T> compute(int partition);
}
