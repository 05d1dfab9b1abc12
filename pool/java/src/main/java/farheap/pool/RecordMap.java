package farheap.pool;

import java.time.Duration;
import java.util.function.BiConsumer;
import java.util.function.UnaryOperator;

/**
 * A {@link SharedMap} whose keys and values are records, as {@link SharedPool#map(String, Class, Class, MapOptions)}
 * gives it. Any thread may use it.
 *
 * <p>The components of the records are primitives, {@code String} and {@code byte[]}; a key or a value may also be a
 * {@code String} itself. Each look-up makes a new record. Two keys are equal if their components have the same bytes.
 * Bytes that another class has written are refused with {@link IllegalArgumentException}: the names and the types of
 * the components are compared, not those of the classes. Otherwise methods throw what those of {@link SharedMap} do.
 *
 * <p>The module of the records, if it has a name, opens their package to {@code farheap.pool}.
 *
 * @param <K> the keys
 * @param <V> the values
 */
public final class RecordMap<K, V> {
    private final SharedMap map;
    private final Codec<K> keys;
    private final Codec<V> values;

    RecordMap(SharedMap map, Codec<K> keys, Codec<V> values) {
        this.map = map;
        this.keys = keys;
        this.values = values;
    }

    /**
     * Returns the map of the bytes.
     *
     * @return the map
     */
    public SharedMap bytes() {
        return map;
    }

    /**
     * Returns the value of a key.
     *
     * @param key the key
     * @return the value, or null if there is none
     */
    public V get(K key) {
        byte[] found = map.get(keys.encode(key));
        return found == null ? null : values.decode(found);
    }

    /**
     * Returns whether a key has a value.
     *
     * @param key the key
     * @return whether it has one
     */
    public boolean containsKey(K key) {
        return map.containsKey(keys.encode(key));
    }

    /**
     * Gives a key a value.
     *
     * @param key the key
     * @param value the value
     */
    public void put(K key, V value) {
        map.put(keys.encode(key), values.encode(value));
    }

    /**
     * Gives a key a value for some time.
     *
     * @param key the key
     * @param value the value
     * @param life how long, at least a millisecond
     */
    public void put(K key, V value, Duration life) {
        map.put(keys.encode(key), values.encode(value), life);
    }

    /**
     * Gives a key a value if it has none.
     *
     * @param key the key
     * @param value the value
     * @return whether it had none
     */
    public boolean putIfAbsent(K key, V value) {
        return map.putIfAbsent(keys.encode(key), values.encode(value)) != 0;
    }

    /**
     * Gives a key another value if it has this one.
     *
     * @param key the key
     * @param old the value that it has
     * @param value the new value
     * @return whether it had that value
     */
    public boolean replace(K key, V old, V value) {
        return map.replace(keys.encode(key), values.encode(old), values.encode(value));
    }

    /**
     * Changes the value of a key, as by one step: if another one changes it meanwhile, the function is called again.
     *
     * @param key the key
     * @param change gets the value, or null if there is none; returns the new one, or null to remove it
     * @return the new value, or null
     */
    public V update(K key, UnaryOperator<V> change) {
        byte[] bytes = keys.encode(key);
        while (true) {
            SharedMap.Versioned found = map.getVersioned(bytes);
            V value = change.apply(found == null ? null : values.decode(found.bytes()));
            boolean isDone;
            if (value == null) {
                isDone = found == null || map.remove(bytes, found.version());
            } else if (found == null) {
                isDone = map.putIfAbsent(bytes, values.encode(value)) != 0;
            } else {
                isDone = map.replace(bytes, found.version(), values.encode(value)) != 0;
            }
            if (isDone) {
                return value;
            }
        }
    }

    /**
     * Removes the value of a key.
     *
     * @param key the key
     * @return whether it had one
     */
    public boolean remove(K key) {
        return map.remove(keys.encode(key));
    }

    /**
     * Returns how many entries there are: exact when nobody is at work.
     *
     * @return the number
     */
    public long size() {
        return map.size();
    }

    /**
     * Calls a visitor for the entries, as {@link SharedMap#forEach}.
     *
     * @param visitor gets keys and values
     */
    public void forEach(BiConsumer<? super K, ? super V> visitor) {
        map.forEach((key, value, version) -> visitor.accept(keys.decode(key), values.decode(value)));
    }
}
