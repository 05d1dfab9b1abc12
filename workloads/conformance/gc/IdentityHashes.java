import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.Set;

// zeal
public class IdentityHashes {
    public static void main(String[] args) {
        Object[] objects = new Object[2000];
        int[] hashes = new int[objects.length];
        Set<Integer> distinct = new HashSet<>();
        for (int i = 0; i < objects.length; i++) {
            objects[i] = i % 4 == 0 ? new int[i % 13] : i % 4 == 1 ? new Object() : i % 4 == 2 ? new String("s" + i) : new long[1];
            if (i % 2 == 0) {
                hashes[i] = System.identityHashCode(objects[i]);
                distinct.add(hashes[i]);
            }
        }
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < 3000; i++) {
                byte[] garbage = new byte[500];
                garbage[0] = 1;
            }
            System.gc();
        }
        int changed = 0;
        for (int i = 0; i < objects.length; i += 2) {
            if (System.identityHashCode(objects[i]) != hashes[i]) {
                changed++;
            }
        }
        System.out.println(changed + " " + (distinct.size() > 990));
        int bad = 0;
        for (int i = 0; i < objects.length; i++) {
            Object o = objects[i];
            boolean fine = i % 4 == 0 ? ((int[]) o).length == i % 13 : i % 4 == 2 ? o.equals("s" + i) : i % 4 != 3 || ((long[]) o)[0] == 0;
            bad += fine ? 0 : 1;
        }
        System.out.println(bad);
        IdentityHashMap<Object, Integer> map = new IdentityHashMap<>();
        for (int i = 0; i < objects.length; i++) {
            map.put(objects[i], i);
        }
        System.gc();
        int found = 0;
        for (int i = 0; i < objects.length; i++) {
            found += map.get(objects[i]) == i ? 1 : 0;
        }
        System.out.println(found);
    }
}
