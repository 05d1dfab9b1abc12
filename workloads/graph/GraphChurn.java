// timeout: 3600
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryUsage;
import java.util.Locale;

/**
 * A graph that never stops changing: keeps a number of live nodes, replaces them and sends
 * messages between them until it has allocated a given amount, and then breaks the heap into
 * fragments and shows that it shrinks.
 *
 * <p>Arguments: live nodes (default 1,000,000), megabytes to allocate (default 1,280: ten times a
 * heap of 128 MB), seed. Standard output holds what must not depend on the collector, the share of
 * local memory, or the VM; figures that do go to standard error.
 */
public class GraphChurn {
    /** A node with three edges; its weight never changes, its edges do. */
    static final class Node {
        final long weight;
        Node a;
        Node b;
        Node c;

        Node(long weight) {
            this.weight = weight;
        }
    }

    /** Nodes per chunk of the index: chunks are ordinary arrays, none is unusually large. */
    private static final int CHUNK = 1024;

    /** The maximum distance of most edges, as in graphs with communities. */
    private static final int REACH = 2000;

    /** Bytes allocated per step in addition to the node: a message that dies young. */
    private static final int MESSAGE = 240;

    /** The minimum allocation of a step, in bytes, on any VM: a message and a node. */
    private static final int STEP = MESSAGE + 32;

    private final Node[][] index;
    private final int nodes;
    private long state;

    GraphChurn(int nodes, long seed) {
        this.nodes = nodes;
        this.state = seed * 2 + 1;
        index = new Node[(nodes + CHUNK - 1) / CHUNK][CHUNK];
        for (int i = 0; i < nodes; i++) {
            set(i, new Node(next()));
        }
        for (int i = 0; i < nodes; i++) {
            link(i);
        }
    }

    public static void main(String[] args) {
        int nodes = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        long megabytes = args.length > 1 ? Long.parseLong(args[1]) : 1280;
        long seed = args.length > 2 ? Long.parseLong(args[2]) : 42;
        long start = System.nanoTime();
        GraphChurn graph = new GraphChurn(nodes, seed);
        System.out.println(nodes + " nodes, checksum " + Long.toHexString(graph.checksum()));
        long bytes = (long) nodes * STEP;
        long rounds = ((megabytes << 20) + bytes - 1) / bytes;
        for (long round = 1; round <= rounds; round++) {
            graph.churn();
            System.err.printf("round %d of %d, %d MB allocated, %.1f s%n", round, rounds,
                round * bytes >> 20, (System.nanoTime() - start) / 1e9);
        }
        System.out.println(rounds + " rounds, checksum " + Long.toHexString(graph.checksum()));
        metric("churn", start);
        long churned = System.nanoTime();
        graph.fragment();
        metric("fragment", churned);
    }

    /**
     * Replaces every node, each with a message to a neighbour. At the end no edge leads to a node
     * that was replaced, so the live set does not grow.
     */
    private void churn() {
        for (int i = 0; i < nodes; i++) {
            byte[] message = new byte[MESSAGE];
            Node old = get(i);
            message[i % MESSAGE] = (byte) old.weight;
            Node fresh = new Node(old.weight * 31 + message[i % MESSAGE]);
            fresh.a = old.b;
            fresh.b = old.c;
            fresh.c = old;
            set(i, fresh);
        }
        for (int i = 0; i < nodes; i++) {
            link(i);
        }
    }

    /** Fills most of the heap, drops a random 7/8 of it, and shows what the heap does then. */
    private void fragment() {
        Runtime runtime = Runtime.getRuntime();
        System.gc();
        long before = used(runtime);
        long room = (long) ((runtime.maxMemory() - before) * 0.6);
        int count = (int) Math.min(room / 560, 2_000_000);
        byte[][][] blocks = new byte[(count + CHUNK - 1) / CHUNK][CHUNK][];
        for (int i = 0; i < count; i++) {
            blocks[i / CHUNK][i % CHUNK] = new byte[256 + random(512)];
        }
        report("filled");
        long full = used(runtime);
        int kept = 0;
        for (int i = 0; i < count; i++) {
            if (random(8) != 0) {
                blocks[i / CHUNK][i % CHUNK] = null;
            } else {
                kept++;
            }
        }
        for (int i = 0; i < 3; i++) {
            System.gc();
        }
        report("after dropping 7/8");
        long after = used(runtime);
        long filled = full - before;
        System.out.println("kept about an eighth: " + (kept > count / 10 && kept < count / 6));
        System.out.println("used memory shrank: " + (after - before < filled / 3));
        // A heap that is only fragmented, not compacted, has no room for this.
        int large = (int) Math.min(filled / 4, 1 << 28);
        byte[][] big = new byte[3][];
        for (int i = 0; i < big.length; i++) {
            big[i] = new byte[large / 2];
            big[i][large / 2 - 1] = (byte) i;
        }
        System.out.println("large arrays fit: " + (big[2][large / 2 - 1] == 2));
        big = null;
        blocks = null;
        System.gc();
        report("end");
        System.out.println("checksum " + Long.toHexString(checksum()));
    }

    private static void metric(String phase, long start) {
        System.err.printf(Locale.ROOT, "metric %s_s %.3f%n", phase, (System.nanoTime() - start) / 1e9);
    }

    private static void report(String when) {
        MemoryUsage heap = ManagementFactory.getMemoryMXBean().getHeapMemoryUsage();
        System.err.printf("%s: used %d MB, committed %d MB, total %d MB%n", when, heap.getUsed() >> 20,
            heap.getCommitted() >> 20, Runtime.getRuntime().totalMemory() >> 20);
    }

    private static long used(Runtime runtime) {
        return runtime.totalMemory() - runtime.freeMemory();
    }

    /** Covers each node's weight and where its edges lead. */
    private long checksum() {
        long sum = 0;
        for (int i = 0; i < nodes; i++) {
            Node n = get(i);
            long edges = n.a.weight ^ n.b.weight * 3 ^ n.c.weight * 5;
            sum = sum * 1_000_003 + n.weight * 31 + edges;
        }
        return sum;
    }

    private void link(int i) {
        Node n = get(i);
        long bits = next();
        n.a = near(i, bits >>> 20);
        n.b = near(i, bits >>> 36);
        // One edge in 64 leads anywhere.
        n.c = (bits >>> 58) == 0 ? get(random(nodes)) : near(i, bits >>> 44);
    }

    private Node near(int i, long bits) {
        int at = i + (int) (bits & 0x7fff) % REACH - REACH / 2;
        return get(at < 0 || at >= nodes ? i : at);
    }

    private Node get(int i) {
        return index[i / CHUNK][i % CHUNK];
    }

    private void set(int i, Node n) {
        index[i / CHUNK][i % CHUNK] = n;
    }

    private int random(int bound) {
        return (int) ((next() >>> 33) % bound);
    }

    private long next() {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return state;
    }
}
