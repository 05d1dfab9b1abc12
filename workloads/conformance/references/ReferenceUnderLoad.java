import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Map;

// zeal
public class ReferenceUnderLoad {
    static class Entry extends WeakReference<int[]> {
        final int key;

        Entry(int key, int[] value, ReferenceQueue<int[]> queue) {
            super(value, queue);
            this.key = key;
        }
    }

    public static void main(String[] args) throws Exception {
        ReferenceQueue<int[]> queue = new ReferenceQueue<>();
        Map<Integer, Entry> map = new HashMap<>();
        int[][] recent = new int[64][];
        int removed = 0;
        int wrong = 0;
        for (int i = 0; i < 20_000; i++) {
            int[] value = {i, i * 2, 0, 0, 0, 0, 0, 0};
            recent[i % recent.length] = value;
            map.put(i, new Entry(i, value, queue));
            if (i % 1000 == 0) {
                System.gc();
            }
            for (Entry e = (Entry) queue.poll(); e != null; e = (Entry) queue.poll()) {
                map.remove(e.key);
                removed++;
            }
            if (i > 64) {
                int[] old = map.get(i - 32).get();
                if (old == null || old[1] != (i - 32) * 2) {
                    wrong++;
                }
            }
        }
        System.out.println(wrong + " " + (removed + map.size()));
        System.gc();
        int live = 0;
        for (int[] r : recent) {
            if (map.get(r[0]).get() == r) {
                live++;
            }
        }
        System.out.println(live);
    }
}
