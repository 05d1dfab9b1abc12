// vm: -Xbatch -XX:CompileThreshold=200
import java.util.concurrent.atomic.AtomicReference;

/**
 * References that move from slot to slot, are compared, tested for null and cast, with objects moving in between: a
 * compiler may work with what the slot holds instead of the address.
 */
public class HotReferences {
    static class Node {
        Node left;
        Node right;
        volatile Object label;
        final int number;

        Node(int number) {
            this.number = number;
        }
    }

    static class Leaf extends Node {
        Leaf(int number) {
            super(number);
        }
    }

    static Node shared;

    public static void main(String[] args) {
        long sum = 0;
        Node[] nodes = new Node[64];
        for (int round = 0; round < 3000; round++) {
            fill(nodes, round);
            sum = sum * 31 + counts(nodes) + casts(nodes);
            rotate(nodes);
            sum = sum * 31 + links(nodes) + same(nodes) + labels(nodes, round) + atomics(nodes);
            sum = sum * 31 + acrossCalls(nodes[round % 64], round);
            if (round % 500 == 0) {
                System.gc();
            }
        }
        System.out.println(Long.toHexString(sum));
    }

    static void fill(Node[] nodes, int round) {
        for (int i = 0; i < nodes.length; i++) {
            Node node = i % 3 == 0 ? new Leaf(i) : new Node(i);
            node.left = i % 5 == 0 ? null : nodes[(i + round) % nodes.length];
            node.right = node.left == null ? node : node.left.right;
            nodes[i] = i % 7 == 0 ? null : node;
        }
        for (Node node : nodes) {
            // Chains stay short.
            if (node != null && node.left != null) {
                node.left.left = null;
            }
        }
    }

    /** Nothing but tests for null. */
    static int counts(Node[] nodes) {
        int count = 0;
        for (int i = 0; i < nodes.length; i++) {
            if (nodes[i] == null) {
                count++;
                continue;
            }
            if (nodes[i].left != null) {
                count += 3;
            }
            if (nodes[i].label == null) {
                count += 5;
            }
            shared = nodes[i].right;
            count += shared == null ? 7 : 0;
        }
        return count;
    }

    static int casts(Node[] nodes) {
        int count = 0;
        for (Object object : nodes) {
            if (object instanceof Leaf) {
                count += ((Leaf) object).number;
            }
            Node node = (Node) object;
            try {
                Leaf leaf = (Leaf) node;
                count += leaf == null ? 1 : leaf.number;
            } catch (ClassCastException e) {
                count += 2;
            }
        }
        return count;
    }

    /** From slot to slot. */
    static void rotate(Node[] nodes) {
        Node first = nodes[0];
        for (int i = 1; i < nodes.length; i++) {
            nodes[i - 1] = nodes[i];
            if (nodes[i] != null) {
                Node left = nodes[i].left;
                nodes[i].left = nodes[i].right;
                nodes[i].right = left;
            }
        }
        nodes[nodes.length - 1] = first;
    }

    static int links(Node[] nodes) {
        int sum = 0;
        for (Node node : nodes) {
            try {
                sum = sum * 31 + node.left.number;
            } catch (NullPointerException e) {
                sum++;
            }
        }
        return sum;
    }

    /** Two references out of slots, one out of a slot and one that is not, and null. */
    static int same(Node[] nodes) {
        int count = 0;
        for (Node node : nodes) {
            if (node == null) {
                continue;
            }
            if (node.left == node.right) {
                count++;
            }
            if (node.left == node) {
                count += 3;
            }
            if (node.right != null && node.right.right != node.right) {
                count += 5;
            }
        }
        return count;
    }

    static int labels(Node[] nodes, int round) {
        int sum = 0;
        for (Node node : nodes) {
            if (node != null) {
                node.label = (round & 1) == 0 ? node.left : "label " + node.number;
                Object label = node.label;
                sum += label == null ? 1 : label instanceof String s ? s.length() : 3;
            }
        }
        return sum;
    }

    static int atomics(Node[] nodes) {
        AtomicReference<Node> reference = new AtomicReference<>();
        int count = 0;
        for (Node node : nodes) {
            Node seen = reference.get();
            if (reference.compareAndSet(seen, node)) {
                count++;
            }
            if (!reference.compareAndSet(seen == null ? new Node(1) : null, seen) || node == null) {
                count += 3;
            }
        }
        return count;
    }

    /** A reference that was loaded before a call is stored after it; the call may collect. */
    static int acrossCalls(Node node, int round) {
        if (node == null) {
            return 1;
        }
        Node left = node.left;
        Node made = garbage(round);
        made.left = left;
        made.right = left == null ? node : left;
        return made.left == node.left && made.right != null ? made.right.number : -1;
    }

    static Node garbage(int round) {
        Node last = new Node(round);
        for (int i = 0; i < 20; i++) {
            Node next = new Node(i);
            next.left = last;
            last = next;
        }
        return last;
    }
}
