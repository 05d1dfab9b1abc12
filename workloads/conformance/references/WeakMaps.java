import java.util.Map;
import java.util.WeakHashMap;

public class WeakMaps {
    static void fill(Map<Object, Integer> map, int n) {
        for (int i = 0; i < n; i++) {
            map.put(new Object(), i);
        }
    }

    public static void main(String[] args) throws Exception {
        WeakHashMap<Object, Integer> map = new WeakHashMap<>();
        Object[] keep = new Object[50];
        for (int i = 0; i < keep.length; i++) {
            keep[i] = "key" + i;
            map.put(keep[i], i);
        }
        fill(map, 200);
        System.out.println(map.size() <= 250);
        for (int i = 0; i < 200 && map.size() > 50; i++) {
            System.gc();
            Thread.sleep(1);
        }
        int sum = 0;
        for (int v : map.values()) {
            sum += v;
        }
        System.out.println(map.size() + " " + sum + " " + map.get("key7"));
        map.remove("key7");
        System.out.println(map.containsKey("key7") + " " + keep[7]);
        ClassValue<String> names = new ClassValue<>() {
            @Override
            protected String computeValue(Class<?> c) {
                return c.getSimpleName() + "!";
            }
        };
        System.out.println(names.get(String.class) + names.get(int[].class) + (names.get(String.class) == names.get(String.class)));
    }
}
