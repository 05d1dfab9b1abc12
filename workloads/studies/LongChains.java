package studies;

import harness.Checksum;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayList;
import java.util.List;

/**
 * Structures that live long and are linked deeply: lists of many thousand nodes, which tracing can follow only one by
 * one, a tree that is balanced by chance, and a grid whose nodes refer to four neighbours. They are walked, searched,
 * cut and put together in another order; little is allocated, so the treatment of live objects by collections matters.
 *
 * <p>Arguments: nodes of each structure, lists, rounds.
 */
public final class LongChains {
    private static final class Link {
        Link next;
        Link previous;
        long value;
    }

    private static final class Leaf {
        final long key;
        final int priority;
        Leaf left;
        Leaf right;

        Leaf(long key, int priority) {
            this.key = key;
            this.priority = priority;
        }
    }

    private static final class Cell {
        final Cell[] neighbours = new Cell[4];
        Object value;
    }

    private final Rng rng = new Rng(1100);
    private final List<Link> rings = new ArrayList<>();
    private Leaf root;
    private final Cell[] corner = new Cell[1];

    public static void main(String[] args) {
        int[] n = Numbers.of(args, "nodes lists rounds", 40_000, 4, 5);
        LongChains chains = new LongChains();
        long start = System.nanoTime();
        chains.build(Math.max(4, n[0]), Math.max(1, n[1]));
        Figures.metric("build_s", Figures.seconds(start));
        Figures.peak();
        start = System.nanoTime();
        for (int round = 0; round < n[2]; round++) {
            Checksum checksum = new Checksum();
            chains.splice();
            chains.walk(checksum);
            chains.search(n[0], checksum);
            chains.wander(n[0], checksum);
            Figures.result("round " + round, checksum);
        }
        Figures.metric("rounds_s", Figures.seconds(start));
    }

    private void build(int nodes, int lists) {
        for (int list = 0; list < lists; list++) {
            Link ring = new Link();
            ring.next = ring;
            ring.previous = ring;
            rings.add(ring);
        }
        // All lists grow at a time, so that neighbours in a list do not lie beside each other.
        for (int i = 0; i < nodes; i++) {
            Link link = new Link();
            link.value = rng.next();
            insert(rings.get(i % lists), link);
        }
        for (int i = 0; i < nodes; i++) {
            root = put(root, new Leaf(rng.next(), rng.next()));
        }
        int side = (int) StrictMath.sqrt(nodes);
        Cell[][] grid = new Cell[side][side];
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                grid[y][x] = new Cell();
                grid[y][x].value = (long) rng.next();
            }
        }
        for (int y = 0; y < side; y++) {
            for (int x = 0; x < side; x++) {
                Cell[] neighbours = grid[y][x].neighbours;
                neighbours[0] = grid[y][(x + 1) % side];
                neighbours[1] = grid[(y + 1) % side][x];
                neighbours[2] = grid[y][(x + side - 1) % side];
                neighbours[3] = grid[(y + side - 1) % side][x];
            }
        }
        corner[0] = grid[0][0];
    }

    /** Puts a link before the ring's end. */
    private static void insert(Link ring, Link link) {
        link.previous = ring.previous;
        link.next = ring;
        ring.previous.next = link;
        ring.previous = link;
    }

    /** A part of each list moves to the end of the next one. */
    private void splice() {
        for (int i = 0; i < rings.size(); i++) {
            Link from = rings.get(i);
            Link to = rings.get((i + 1) % rings.size());
            Link first = from.next;
            Link last = from;
            for (int k = rng.below(1000); k > 0 && last.next != from; k--) {
                last = last.next;
            }
            if (last == from || from == to) {
                continue;
            }
            from.next = last.next;
            last.next.previous = from;
            first.previous = to.previous;
            to.previous.next = first;
            last.next = to;
            to.previous = last;
        }
    }

    private void walk(Checksum checksum) {
        for (Link ring : rings) {
            long sum = 0;
            int count = 0;
            for (Link link = ring.next; link != ring; link = link.next) {
                Figures.require(link.next.previous == link, "a list is broken");
                sum = sum * 31 + link.value++;
                count++;
            }
            checksum.add(count).add(sum);
        }
    }

    /** Takes some leaves out of the tree and puts others in, then visits all. */
    private void search(int nodes, Checksum checksum) {
        for (int i = 0; i < nodes / 20; i++) {
            long key = smallestFrom(rng.next());
            root = remove(root, key);
            root = put(root, new Leaf(rng.next(), rng.next()));
        }
        long[] sum = {0, Long.MIN_VALUE};
        inOrder(root, sum);
        checksum.add(sum[0]);
    }

    private long smallestFrom(long low) {
        long best = root.key;
        for (Leaf leaf = root; leaf != null; leaf = leaf.key < low ? leaf.right : leaf.left) {
            best = leaf.key >= low ? leaf.key : best;
        }
        return best;
    }

    private static void inOrder(Leaf leaf, long[] sum) {
        if (leaf != null) {
            inOrder(leaf.left, sum);
            Figures.require(leaf.key >= sum[1], "the tree is not sorted");
            sum[1] = leaf.key;
            sum[0] = sum[0] * 31 + leaf.key;
            inOrder(leaf.right, sum);
        }
    }

    /** A treap: sorted by keys, and no node has a larger priority than its parent. */
    private static Leaf put(Leaf tree, Leaf leaf) {
        if (tree == null) {
            return leaf;
        }
        if (leaf.key < tree.key) {
            tree.left = put(tree.left, leaf);
            return tree.left.priority > tree.priority ? rightUp(tree) : tree;
        }
        tree.right = put(tree.right, leaf);
        return tree.right.priority > tree.priority ? leftUp(tree) : tree;
    }

    private static Leaf rightUp(Leaf tree) {
        Leaf top = tree.left;
        tree.left = top.right;
        top.right = tree;
        return top;
    }

    private static Leaf leftUp(Leaf tree) {
        Leaf top = tree.right;
        tree.right = top.left;
        top.left = tree;
        return top;
    }

    private static Leaf remove(Leaf tree, long key) {
        if (tree == null) {
            return null;
        }
        if (key != tree.key) {
            if (key < tree.key) {
                tree.left = remove(tree.left, key);
            } else {
                tree.right = remove(tree.right, key);
            }
            return tree;
        }
        return merge(tree.left, tree.right);
    }

    private static Leaf merge(Leaf smaller, Leaf larger) {
        if (smaller == null || larger == null) {
            return smaller == null ? larger : smaller;
        }
        if (smaller.priority > larger.priority) {
            smaller.right = merge(smaller.right, larger);
            return smaller;
        }
        larger.left = merge(smaller, larger.left);
        return larger;
    }

    /** A walk over the grid whose direction the values decide, and that replaces them. */
    private void wander(int steps, Checksum checksum) {
        Cell cell = corner[0];
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            long value = (Long) cell.value;
            sum = sum * 31 + value;
            cell.value = value * 0x5851F42D4C957F2DL + i;
            cell = cell.neighbours[(int) (value >>> 40 & 3)];
        }
        checksum.add(sum);
    }
}
