package dataset;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.IntConsumer;
import java.util.function.IntFunction;

/**
 * Resilient datasets in one process, in the manner of the engines for clusters. The words:
 *
 * <ul>
 *   <li>A {@link Dataset} is a list of partitions and a recipe, its <i>lineage</i>: nothing is computed before a result
 *       is asked for, and lost partitions are computed anew.
 *   <li>A step is <i>narrow</i> if a partition needs one partition of each parent; such steps run together, an element
 *       at a time. A {@link Shuffle} needs all of them, and so ends a <i>stage</i>.
 *   <li>A <i>task</i> is a stage's work on one partition; a pool of threads executes them.
 *   <li>Partitions of a dataset that is <i>kept</i> stay in the heap as arrays of objects.
 * </ul>
 *
 * <p>The result depends on the data and on the number of partitions, never on the number of threads: each partition
 * has an order, and results of partitions are put together in theirs, so that even sums of floating-point numbers are
 * the same. One thread, the driver, builds datasets and asks for results; tasks only compute.
 */
public final class Engine implements AutoCloseable {
    private final ExecutorService pool;
    private final int partitions;
    private int stages;
    private int tasks;

    /** An engine with these numbers of partitions of its datasets and of threads. */
    public Engine(int partitions, int threads) {
        if (partitions < 1 || threads < 1) {
            throw new IllegalArgumentException("partitions and threads are at least 1");
        }
        this.partitions = partitions;
        AtomicInteger number = new AtomicInteger();
        pool = Executors.newFixedThreadPool(threads, task -> new Thread(task, "task-" + number.incrementAndGet()));
    }

    public int partitions() {
        return partitions;
    }

    /** Stages and tasks so far. */
    public String work() {
        return stages + " stages, " + tasks + " tasks";
    }

    /** A dataset whose partitions are made by a function, the same elements each time that it is called. */
    public <T> Dataset<T> generate(IntFunction<Iterator<T>> generator) {
        return new Dataset<>(this, partitions, new Source<T>() {
            @Override
            public void prepare() {}

            @Override
            public Iterator<T> compute(int partition) {
                return generator.apply(partition);
            }
        });
    }

    /** A stage: {@code task} for each of the numbers, which are partitions. Returns when all are done. */
    void stage(List<Integer> numbers, IntConsumer task) throws InterruptedException {
        stages++;
        tasks += numbers.size();
        List<Future<?>> futures = new ArrayList<>();
        for (int number : numbers) {
            futures.add(pool.submit(() -> task.accept(number)));
        }
        for (Future<?> future : futures) {
            try {
                future.get();
            } catch (ExecutionException e) {
                pool.shutdownNow();
                throw new IllegalStateException("a task failed", e.getCause());
            }
        }
    }

    @Override
    public void close() {
        pool.shutdownNow();
    }
}
