import java.util.Comparator;
import java.util.NavigableMap;
import java.util.NavigableSet;
import java.util.Random;
import java.util.TreeMap;
import java.util.TreeSet;

public class SortedCollections {
    public static void main(String[] args) {
        TreeMap<Integer, String> map = new TreeMap<>();
        Random random = new Random(42);
        for (int i = 0; i < 200; i++) {
            map.put(random.nextInt(1000), "v" + i);
        }
        for (int i = 0; i < 100; i++) {
            map.remove(random.nextInt(1000));
        }
        System.out.println(map.size() + " " + map.firstEntry() + " " + map.lastKey() + " " + map.floorKey(500)
            + " " + map.ceilingKey(500) + " " + map.lowerEntry(10) + " " + map.higherKey(990));
        NavigableMap<Integer, String> sub = map.subMap(100, true, 300, false);
        System.out.println(sub.size() + " " + sub.keySet());
        sub.pollFirstEntry();
        sub.clear();
        System.out.println(map.headMap(310).size() + " " + map.tailMap(900, false));
        System.out.println(map.descendingMap().firstKey());
        try {
            sub.put(5, "x");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        NavigableSet<String> set = new TreeSet<>(Comparator.comparing(String::length)
            .thenComparing(Comparator.reverseOrder()));
        for (String s : "the quick brown fox jumps over the lazy dog and runs away".split(" ")) {
            set.add(s);
        }
        System.out.println(set + " " + set.first() + " " + set.pollLast() + " " + set.headSet("over", true)
            + " " + set.descendingSet());
        try {
            new TreeSet<Object>().add(new Object());
        } catch (ClassCastException e) {
            System.out.println("not comparable");
        }
        try {
            map.put(null, "x");
        } catch (NullPointerException e) {
            System.out.println("no nulls");
        }
    }
}
