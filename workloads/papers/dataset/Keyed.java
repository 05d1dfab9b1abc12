package dataset;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BinaryOperator;
import java.util.function.Function;

/** A dataset of keys with values. If it is <i>placed</i>, the hash of a key says in which partition the key is. */
public final class Keyed<K, V> extends Dataset<Pair<K, V>> {
    private final boolean placed;

    Keyed(Engine engine, int partitions, Source<Pair<K, V>> source, boolean placed) {
        super(engine, partitions, source);
        this.placed = placed;
    }

    public <W> Keyed<K, W> mapValues(Function<? super V, ? extends W> function) {
        return throughPairs(
            pairs -> Flow.map(pairs, pair -> new Pair<>(pair.key(), function.apply(pair.value()))), placed);
    }

    /** Each key with its values put together, first in the partitions where they are. */
    public Keyed<K, V> reduceByKey(BinaryOperator<V> reduce) {
        return shuffled(new Shuffle<>(this, engine.partitions(), value -> value, reduce, reduce, true));
    }

    /** Each key with the list of its values. */
    public Keyed<K, List<V>> groupByKey() {
        Function<V, List<V>> create = value -> {
            List<V> list = new ArrayList<>(4);
            list.add(value);
            return list;
        };
        return shuffled(new Shuffle<K, V, List<V>>(this, engine.partitions(), create, (list, value) -> {
            list.add(value);
            return list;
        }, null, false));
    }

    /** All pairs of values that have the same key. A side that is placed already stays where it is. */
    public <W> Keyed<K, Pair<V, W>> join(Keyed<K, W> other) {
        Keyed<K, V> left = this.place();
        Keyed<K, W> right = other.place();
        return new Keyed<>(engine, engine.partitions(), new Source<Pair<K, Pair<V, W>>>() {
            @Override
            public void prepare() throws InterruptedException {
                left.prepare();
                right.prepare();
            }

            @Override
            public Iterator<Pair<K, Pair<V, W>>> compute(int partition) {
                Map<K, List<V>> table = new LinkedHashMap<>();
                left.iterator(partition).forEachRemaining(
                    pair -> table.computeIfAbsent(pair.key(), key -> new ArrayList<>(2)).add(pair.value()));
                return Flow.flatMap(right.iterator(partition), pair -> {
                    List<V> values = table.getOrDefault(pair.key(), List.of());
                    return Flow.map(values.iterator(), v -> new Pair<>(pair.key(), new Pair<>(v, pair.value())));
                });
            }
        }, true);
    }

    @Override
    public Keyed<K, V> keep() {
        super.keep();
        return this;
    }

    @Override
    public Keyed<K, V> checkpoint() throws InterruptedException {
        super.checkpoint();
        return this;
    }

    /** This dataset, each key in its partition. */
    private Keyed<K, V> place() {
        if (placed && partitions == engine.partitions()) {
            return this;
        }
        Keyed<K, List<V>> grouped = groupByKey();
        return grouped.throughPairs(pairs -> Flow.flatMap(pairs, pair -> Flow.map(
            pair.value().iterator(), value -> new Pair<>(pair.key(), value))), true);
    }

    private <C> Keyed<K, C> shuffled(Shuffle<K, V, C> shuffle) {
        return new Keyed<>(engine, engine.partitions(), shuffle, true);
    }
}
