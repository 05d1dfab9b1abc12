// vm: -XX:CompileThreshold=100 -Xmx32m
// zeal
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** References in compiled frames while the collector moves what they refer to. */
public class HotCollections {
    static class Node {
        Node left;
        Node right;
        int key;
        Object[] load;

        Node(int key) {
            this.key = key;
            this.load = new Object[] {key, "n" + key};
        }
    }

    static Node insert(Node at, int key) {
        if (at == null) {
            return new Node(key);
        }
        if (key < at.key) {
            at.left = insert(at.left, key);
        } else if (key > at.key) {
            at.right = insert(at.right, key);
        }
        return at;
    }

    static long check(Node at, String prefix) {
        if (at == null) {
            return 0;
        }
        String own = prefix + (at.key & 1);
        long left = check(at.left, own);
        long right = check(at.right, own);
        if (!at.load[1].equals("n" + at.key) || (Integer) at.load[0] != at.key || !own.startsWith(prefix)) {
            throw new AssertionError(at.key);
        }
        return left + right + at.key;
    }

    static Object[] many(Object a, Object b, Object c, Object d, Object e, Object f, Object g, Object h) {
        Object[] first = {a, b, c, d};
        Object[] second = {e, f, g, h};
        Object[] all = new Object[8];
        System.arraycopy(first, 0, all, 0, 4);
        System.arraycopy(second, 0, all, 4, 4);
        return all;
    }

    static int deep(int n, Object kept) {
        Object own = new int[] {n};
        int below = n == 0 ? 0 : deep(n - 1, own);
        if (n % 50 == 0) {
            own = new Object[] {own, new byte[1000]};
            own = ((Object[]) own)[0];
        }
        return below + ((int[]) own)[0] + (kept instanceof int[] ? ((int[]) kept)[0] : 0);
    }

    public static void main(String[] args) {
        Node root = null;
        long seed = 42;
        for (int i = 0; i < 4000; i++) {
            seed = seed * 0x5DEECE66DL + 11 & (1L << 48) - 1;
            root = insert(root, (int) (seed >> 20) % 10_000);
        }
        System.out.println(check(root, ""));
        Map<String, List<Integer>> map = new HashMap<>();
        TreeMap<Integer, String> tree = new TreeMap<>();
        for (int i = 0; i < 6000; i++) {
            map.computeIfAbsent("k" + i % 97, k -> new ArrayList<>()).add(i);
            tree.merge(i % 211, "v" + i, (a, b) -> a.length() > 40 ? b : a + b);
        }
        long sum = 0;
        for (Map.Entry<String, List<Integer>> entry : map.entrySet()) {
            for (int value : entry.getValue()) {
                sum += value * entry.getKey().length();
            }
        }
        int letters = 0;
        for (String value : tree.values()) {
            letters += value.length();
        }
        System.out.println(sum + " " + letters);
        int good = 0;
        for (int i = 0; i < 2000; i++) {
            Object[] all = many("a" + i, i, (long) i, i * .5, new int[i % 10], null, "h", 'c');
            good += all[0].equals("a" + i) && (Integer) all[1] == i && ((int[]) all[4]).length == i % 10 ? 1 : 0;
        }
        System.out.println(good);
        for (int i = 0; i < 20; i++) {
            sum += deep(400, null);
        }
        System.out.println(sum);
    }
}
