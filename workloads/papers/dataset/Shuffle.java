package dataset;

import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.BiFunction;
import java.util.function.BinaryOperator;
import java.util.function.Function;
import java.util.stream.Collectors;

/**
 * Brings the values of each key together. The first stage writes, for each partition of the parent, a bucket of pairs
 * for each partition of the result; the second reads its bucket of all of them, in their order. Buckets stay in the
 * heap as long as the result may be asked for.
 */
final class Shuffle<K, V, C> implements Source<Pair<K, C>> {
    private final Keyed<K, V> parent;
    private final int partitions;
    private final Function<V, C> create;
    private final BiFunction<C, V, C> add;
    private final BinaryOperator<C> merge;
    /** Whether values of a key are combined before they are written. */
    private final boolean early;
    /** By partition of the parent, and then by partition of the result: keys with combined values, or with values. */
    private final AtomicReferenceArray<Object[][]> outputs;

    Shuffle(Keyed<K, V> parent, int partitions, Function<V, C> create, BiFunction<C, V, C> add,
            BinaryOperator<C> merge, boolean early) {
        this.parent = parent;
        this.partitions = partitions;
        this.create = create;
        this.add = add;
        this.merge = merge;
        this.early = early;
        outputs = new AtomicReferenceArray<>(parent.partitions);
    }

    @Override
    public void prepare() throws InterruptedException {
        List<Integer> missing =
            parent.all().stream().filter(map -> outputs.get(map) == null).collect(Collectors.toList());
        if (!missing.isEmpty()) {
            parent.prepare();
            parent.engine.stage(missing, map -> outputs.set(map, write(parent.iterator(map))));
        }
    }

    @Override
    @SuppressWarnings("unchecked")
    public Iterator<Pair<K, C>> compute(int partition) {
        Map<K, C> result = new LinkedHashMap<>();
        for (int map = 0; map < outputs.length(); map++) {
            for (Object element : outputs.get(map)[partition]) {
                if (early) {
                    Pair<K, C> pair = (Pair<K, C>) element;
                    result.merge(pair.key(), pair.value(), merge);
                } else {
                    put(result, (Pair<K, V>) element);
                }
            }
        }
        return Flow.map(result.entrySet().iterator(), entry -> new Pair<>(entry.getKey(), entry.getValue()));
    }

    private Object[][] write(Iterator<Pair<K, V>> pairs) {
        List<List<Object>> buckets = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            buckets.add(new ArrayList<>());
        }
        if (early) {
            Map<K, C> combined = new LinkedHashMap<>();
            pairs.forEachRemaining(pair -> put(combined, pair));
            combined.forEach((key, value) -> buckets.get(place(key)).add(new Pair<>(key, value)));
        } else {
            pairs.forEachRemaining(pair -> buckets.get(place(pair.key())).add(pair));
        }
        return buckets.stream().map(List::toArray).toArray(Object[][]::new);
    }

    private void put(Map<K, C> combined, Pair<K, V> pair) {
        C before = combined.get(pair.key());
        if (before == null) {
            combined.put(pair.key(), create.apply(pair.value()));
        } else {
            C after = add.apply(before, pair.value());
            if (after != before) {
                combined.put(pair.key(), after);
            }
        }
    }

    private int place(K key) {
        int hash = key.hashCode() * 0x9E3779B9;
        return (int) (((hash & 0xFFFFFFFFL) * partitions) >>> 32);
    }
}
