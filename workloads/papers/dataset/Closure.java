package dataset;

import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayList;
import java.util.List;

/**
 * The transitive closure of a random graph: paths are made longer by an edge in each round, until there are no
 * more. All pairs of connected nodes stay in the heap. The result is compared with a search from each node.
 *
 * <p>Arguments: nodes, edges, partitions, threads.
 */
public final class Closure {
    private Closure() {}

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "nodes edges partitions threads", 30, 40, 4, 2);
        int nodes = n[0];
        int edgesEach = (n[1] + n[2] - 1) / n[2];
        long start = System.nanoTime();
        try (Engine engine = new Engine(n[2], n[3])) {
            Dataset<Pair<Integer, Integer>> edges = engine.generate(partition -> {
                Rng rng = new Rng(200 + partition);
                List<Pair<Integer, Integer>> list = new ArrayList<>();
                for (int i = partition * edgesEach; i < Math.min(n[1], (partition + 1) * edgesEach); i++) {
                    list.add(new Pair<>(rng.below(nodes), rng.below(nodes)));
                }
                return list.iterator();
            }).distinct().keep();
            Keyed<Integer, Integer> byTarget = edges.mapToPairs(edge -> new Pair<>(edge.value(), edge.key()));
            byTarget.keep();
            Dataset<Pair<Integer, Integer>> paths = edges;
            long before;
            long now = paths.count();
            int rounds = 0;
            do {
                before = now;
                // A path from its start, and an edge that ends there, are a path from where the edge starts.
                Keyed<Integer, Integer> byStart = paths.mapToPairs(path -> path);
                Dataset<Pair<Integer, Integer>> longer =
                    byTarget.join(byStart).map(entry -> new Pair<>(entry.value().key(), entry.value().value()));
                paths = paths.union(longer).distinct().checkpoint();
                now = paths.count();
                rounds++;
            } while (now != before);
            Figures.peak();
            Figures.metric("run_s", Figures.seconds(start));
            Figures.result("rounds", rounds);
            Figures.result("pairs", now);
            check(edges.collect(), paths, nodes);
            Figures.result("work", engine.work());
        }
    }

    /** Every node's reach, by a search through the edges. */
    private static void check(List<Pair<Integer, Integer>> edges, Dataset<Pair<Integer, Integer>> paths, int nodes)
            throws InterruptedException {
        List<List<Integer>> next = new ArrayList<>();
        for (int i = 0; i < nodes; i++) {
            next.add(new ArrayList<>());
        }
        edges.forEach(edge -> next.get(edge.key()).add(edge.value()));
        long expected = 0;
        long pairs = 0;
        for (int from = 0; from < nodes; from++) {
            boolean[] seen = new boolean[nodes];
            int[] open = new int[nodes];
            int end = 0;
            int at = -1;
            do {
                for (int to : next.get(at < 0 ? from : open[at])) {
                    if (!seen[to]) {
                        seen[to] = true;
                        open[end++] = to;
                        expected += mixed(from, to);
                        pairs++;
                    }
                }
            } while (++at < end);
        }
        long sum = paths.aggregate(0L, (total, path) -> total + mixed(path.key(), path.value()), Long::sum);
        Figures.require(sum == expected && paths.count() == pairs, "the pairs are not those that a search finds");
        Figures.result("checksum", Long.toHexString(sum));
    }

    private static long mixed(long from, long to) {
        long mixed = (from << 32 | to) * 0x9E3779B97F4A7C15L;
        return mixed ^ mixed >>> 31;
    }
}
