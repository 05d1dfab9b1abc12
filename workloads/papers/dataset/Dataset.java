package dataset;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import java.util.stream.IntStream;

/** A list of partitions that knows how to compute itself. {@link Engine} explains the words. */
public class Dataset<T> {
    protected final Engine engine;
    protected final int partitions;
    /** Null once the dataset stands for itself. */
    private volatile Source<T> source;
    /** The partitions that are in the heap; null while they are not to be kept. */
    private volatile AtomicReferenceArray<Object[]> blocks;

    Dataset(Engine engine, int partitions, Source<T> source) {
        this.engine = engine;
        this.partitions = partitions;
        this.source = source;
    }

    // Steps, all of them lazy.

    public <U> Dataset<U> map(Function<? super T, ? extends U> function) {
        return through(elements -> Flow.map(elements, function));
    }

    public Dataset<T> filter(Predicate<? super T> predicate) {
        return through(elements -> Flow.filter(elements, predicate));
    }

    public <U> Dataset<U> flatMap(Function<? super T, ? extends Iterator<U>> function) {
        return through(elements -> Flow.flatMap(elements, function));
    }

    public <K, V> Keyed<K, V> mapToPairs(Function<? super T, Pair<K, V>> function) {
        return throughPairs(elements -> Flow.map(elements, function), false);
    }

    public <K, V> Keyed<K, V> flatMapToPairs(Function<? super T, ? extends Iterator<Pair<K, V>>> function) {
        return throughPairs(elements -> Flow.flatMap(elements, function), false);
    }

    /** The elements of both, in twice the partitions. */
    public Dataset<T> union(Dataset<T> other) {
        return new Dataset<>(engine, partitions + other.partitions, new Source<T>() {
            @Override
            public void prepare() throws InterruptedException {
                Dataset.this.prepare();
                other.prepare();
            }

            @Override
            public Iterator<T> compute(int partition) {
                return partition < partitions ? iterator(partition) : other.iterator(partition - partitions);
            }
        });
    }

    /** Each element once. */
    public Dataset<T> distinct() {
        return this.<T, Boolean>mapToPairs(element -> new Pair<>(element, Boolean.TRUE))
            .reduceByKey((a, b) -> a)
            .map(Pair::key);
    }

    // Where partitions are.

    /** From now on a partition that was computed stays in the heap. */
    public Dataset<T> keep() {
        if (blocks == null) {
            blocks = new AtomicReferenceArray<>(partitions);
        }
        return this;
    }

    /** Partitions are no longer kept. */
    public void drop() {
        if (source == null) {
            throw new IllegalStateException("nothing else knows what a checkpoint holds");
        }
        blocks = null;
    }

    /** A kept partition is lost, as when a machine fails. A task that needs it computes it anew, from the lineage. */
    public void lose(int partition) {
        AtomicReferenceArray<Object[]> kept = blocks;
        if (kept != null && source != null) {
            kept.set(partition, null);
        }
    }

    /** Computes and keeps all partitions, and forgets the lineage with all that it holds. */
    public Dataset<T> checkpoint() throws InterruptedException {
        keep();
        count();
        source = null;
        return this;
    }

    // Results.

    public long count() throws InterruptedException {
        return partials(elements -> {
            long count = 0;
            for (; elements.hasNext(); elements.next()) {
                count++;
            }
            return count;
        }).stream().mapToLong(Long::longValue).sum();
    }

    public List<T> collect() throws InterruptedException {
        List<T> all = new ArrayList<>();
        for (List<T> part : this.<List<T>>partials(elements -> {
            List<T> list = new ArrayList<>();
            elements.forEachRemaining(list::add);
            return list;
        })) {
            all.addAll(part);
        }
        return all;
    }

    /** The first {@code wanted} elements, or all if there are fewer. The driver itself computes the partitions. */
    public List<T> take(int wanted) throws InterruptedException {
        prepare();
        List<T> first = new ArrayList<>();
        for (int partition = 0; partition < partitions && first.size() < wanted; partition++) {
            for (Iterator<T> elements = iterator(partition); elements.hasNext() && first.size() < wanted; ) {
                first.add(elements.next());
            }
        }
        return first;
    }

    /** {@code zero} with the elements added, within partitions and then across them, in their order. */
    public <A> A aggregate(A zero, BiFunction<A, ? super T, A> add, BinaryOperator<A> merge)
            throws InterruptedException {
        A result = zero;
        for (A part : this.<A>partials(elements -> {
            A sum = zero;
            while (elements.hasNext()) {
                sum = add.apply(sum, elements.next());
            }
            return sum;
        })) {
            result = merge.apply(result, part);
        }
        return result;
    }

    @SuppressWarnings("unchecked")
    private <R> List<R> partials(Function<Iterator<T>, R> function) throws InterruptedException {
        prepare();
        Object[] results = new Object[partitions];
        engine.stage(all(), partition -> results[partition] = function.apply(iterator(partition)));
        return (List<R>) Arrays.asList(results);
    }

    // For other steps.

    /** Makes sure that {@link #iterator} needs no other stage. */
    void prepare() throws InterruptedException {
        AtomicReferenceArray<Object[]> kept = blocks;
        boolean complete = kept != null && all().stream().allMatch(partition -> kept.get(partition) != null);
        if (!complete) {
            source.prepare();
        }
    }

    /** The elements of a partition: kept ones, or computed. */
    Iterator<T> iterator(int partition) {
        AtomicReferenceArray<Object[]> kept = blocks;
        if (kept == null) {
            return source.compute(partition);
        }
        Object[] block = kept.get(partition);
        if (block == null) {
            List<T> list = new ArrayList<>();
            source.compute(partition).forEachRemaining(list::add);
            block = list.toArray();
            kept.set(partition, block);
        }
        return Flow.of(block);
    }

    List<Integer> all() {
        return IntStream.range(0, partitions).boxed().collect(Collectors.toList());
    }

    private <U> Dataset<U> through(Function<Iterator<T>, Iterator<U>> function) {
        return new Dataset<>(engine, partitions, narrow(function));
    }

    <K, V> Keyed<K, V> throughPairs(Function<Iterator<T>, Iterator<Pair<K, V>>> function, boolean placed) {
        return new Keyed<>(engine, partitions, narrow(function), placed);
    }

    private <U> Source<U> narrow(Function<Iterator<T>, Iterator<U>> function) {
        return new Source<>() {
            @Override
            public void prepare() throws InterruptedException {
                Dataset.this.prepare();
            }

            @Override
            public Iterator<U> compute(int partition) {
                return function.apply(iterator(partition));
            }
        };
    }
}
