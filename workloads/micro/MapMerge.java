import java.util.HashMap;
import java.util.Map;

/** Library code, boxes and lambdas: a number of merges (default 1,000,000) into a hash map. */
public class MapMerge {
    public static void main(String[] args) {
        int merges = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        Map<Integer, Integer> map = new HashMap<>();
        int key = 1;
        for (int i = 0; i < merges; i++) {
            key = key * 1_103_515_245 + 12_345;
            map.merge(key >>> 16, 1, Integer::sum);
        }
        long sum = 0;
        for (Map.Entry<Integer, Integer> e : map.entrySet()) {
            sum += (long) e.getKey() * e.getValue();
        }
        System.out.println(map.size() + " " + sum);
    }
}
