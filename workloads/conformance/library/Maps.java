import java.util.Collections;
import java.util.HashMap;
import java.util.Hashtable;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

// zeal
public class Maps {
    record BadHash(int value) implements Comparable<BadHash> {
        @Override
        public int hashCode() {
            return value % 3;
        }

        @Override
        public int compareTo(BadHash o) {
            return Integer.compare(value, o.value);
        }
    }

    static void exercise(Map<Object, Integer> map) {
        for (int i = 0; i < 300; i++) {
            map.put("key" + i, i);
        }
        for (int i = 0; i < 300; i += 2) {
            map.remove("key" + i);
        }
        map.merge("key1", 1000, Integer::sum);
        map.merge("key3", 0, (a, b) -> null);
        map.computeIfAbsent("fresh", k -> 5);
        map.computeIfPresent("key5", (k, v) -> v * 2);
        map.compute("key7", (k, v) -> v == null ? 0 : -v);
        map.putIfAbsent("key9", -1);
        map.replaceAll((k, v) -> v + 1);
        long sum = 0;
        for (Map.Entry<Object, Integer> e : map.entrySet()) {
            sum += e.getKey().hashCode() * 31L + e.getValue();
        }
        System.out.println(map.getClass().getSimpleName() + " " + map.size() + " " + sum + " " + map.get("key1")
            + " " + map.getOrDefault("key3", -9) + " " + map.get("key7") + " " + map.containsValue(6));
    }

    public static void main(String[] args) {
        exercise(new HashMap<>());
        exercise(new LinkedHashMap<>());
        exercise(new TreeMap<>());
        exercise(new Hashtable<>());
        exercise(Collections.synchronizedMap(new HashMap<>()));
        Map<BadHash, Integer> tree = new HashMap<>();
        for (int i = 0; i < 200; i++) {
            tree.put(new BadHash(i), i);
        }
        for (int i = 0; i < 190; i++) {
            tree.remove(new BadHash(i));
        }
        System.out.println(new TreeMap<>(tree));
        LinkedHashMap<String, Integer> lru = new LinkedHashMap<>(16, 0.75f, true) {
            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Integer> e) {
                return size() > 3;
            }
        };
        for (String s : "a b c a d a e".split(" ")) {
            lru.put(s, lru.getOrDefault(s, 0) + 1);
        }
        System.out.println(lru);
        IdentityHashMap<String, Integer> identity = new IdentityHashMap<>();
        identity.put(new String("k"), 1);
        identity.put(new String("k"), 2);
        System.out.println(identity.size());
        Map<String, Integer> plain = new HashMap<>();
        plain.put(null, 1);
        plain.put("b", null);
        System.out.println(plain + " " + plain.containsKey("b") + " " + plain.hashCode());
        System.out.println(Map.of("only", 1) + " " + Map.entry("a", 2) + " " + new TreeMap<>(Map.of(3, "c", 1, "a")));
        try {
            Map.of("a", 1, "a", 2);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
    }
}
