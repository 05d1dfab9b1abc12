// zeal
public class AllocationThreads {
    record Pair(Object a, Object b) {}

    static Object tree(int depth, int seed) {
        return depth == 0 ? Integer.valueOf(seed * 1000) : new Pair(tree(depth - 1, seed), tree(depth - 1, seed + 1));
    }

    static long sum(Object o) {
        return o instanceof Pair p ? sum(p.a()) + 3 * sum(p.b()) : (Integer) o;
    }

    public static void main(String[] args) throws Exception {
        long[] sums = new long[4];
        Object[] published = new Object[4];
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int id = t;
            threads[t] = new Thread(() -> {
                Object kept = tree(9, id);
                for (int i = 0; i < 12; i++) {
                    Object o = tree(7, i + id);
                    sums[id] += sum(o);
                    published[(id + i) % 4] = o;
                }
                sums[id] += sum(kept);
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(sums[0] + " " + sums[1] + " " + sums[2] + " " + sums[3]);
        int pairs = 0;
        for (Object o : published) {
            pairs += o instanceof Pair ? 1 : 0;
        }
        System.out.println(pairs);
    }
}
