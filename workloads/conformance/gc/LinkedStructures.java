import java.util.Random;

// zeal
public class LinkedStructures {
    static class Node {
        final int key;
        Node left;
        Node right;

        Node(int key) {
            this.key = key;
        }
    }

    static Node insert(Node n, int key) {
        if (n == null) {
            return new Node(key);
        }
        if (key < n.key) {
            n.left = insert(n.left, key);
        } else if (key > n.key) {
            n.right = insert(n.right, key);
        }
        return n;
    }

    static Node remove(Node n, int key) {
        if (n == null) {
            return null;
        }
        if (key < n.key) {
            n.left = remove(n.left, key);
        } else if (key > n.key) {
            n.right = remove(n.right, key);
        } else if (n.left == null) {
            return n.right;
        } else if (n.right == null) {
            return n.left;
        } else {
            Node min = n.right;
            while (min.left != null) {
                min = min.left;
            }
            Node fresh = new Node(min.key);
            fresh.left = n.left;
            fresh.right = remove(n.right, min.key);
            return fresh;
        }
        return n;
    }

    static long sum(Node n) {
        return n == null ? 0 : n.key + 31 * sum(n.left) - 7 * sum(n.right);
    }

    static int size(Node n) {
        return n == null ? 0 : 1 + size(n.left) + size(n.right);
    }

    public static void main(String[] args) {
        Random random = new Random(11);
        Node root = null;
        for (int i = 0; i < 6000; i++) {
            root = insert(root, random.nextInt(2000));
            if (i % 2 == 1) {
                root = remove(root, random.nextInt(2000));
            }
            if (i % 2000 == 0) {
                System.gc();
            }
        }
        System.out.println(size(root) + " " + sum(root));
        Object[] list = null;
        for (int i = 0; i < 50_000; i++) {
            list = new Object[] {list, i};
        }
        int n = 0;
        long total = 0;
        for (Object[] o = list; o != null; o = (Object[]) o[0]) {
            n++;
            total += (Integer) o[1];
        }
        System.out.println(n + " " + total);
        System.gc();
        n = 0;
        for (Object[] o = list; o != null; o = (Object[]) o[0]) {
            n++;
        }
        System.out.println(n);
    }
}
