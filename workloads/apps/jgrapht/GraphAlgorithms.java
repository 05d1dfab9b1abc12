import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.util.Iterator;
import java.util.Map;
import java.util.Set;
import org.jgrapht.Graph;
import org.jgrapht.GraphPath;
import org.jgrapht.alg.clustering.LabelPropagationClustering;
import org.jgrapht.alg.color.GreedyColoring;
import org.jgrapht.alg.connectivity.KosarajuStrongConnectivityInspector;
import org.jgrapht.alg.flow.PushRelabelMFImpl;
import org.jgrapht.alg.matching.GreedyMaximumCardinalityMatching;
import org.jgrapht.alg.scoring.ClusteringCoefficient;
import org.jgrapht.alg.scoring.PageRank;
import org.jgrapht.alg.shortestpath.BidirectionalDijkstraShortestPath;
import org.jgrapht.alg.shortestpath.DijkstraShortestPath;
import org.jgrapht.alg.spanning.KruskalMinimumSpanningTree;
import org.jgrapht.graph.AsUndirectedGraph;
import org.jgrapht.graph.DefaultDirectedWeightedGraph;
import org.jgrapht.graph.DefaultWeightedEdge;
import org.jgrapht.traverse.BreadthFirstIterator;
import org.jgrapht.traverse.DepthFirstIterator;

/**
 * Algorithms of JGraphT on a generated graph with communities: traversals, PageRank, shortest paths, strong
 * components, spanning tree, flow, colouring, matching, clustering.
 *
 * <p>Arguments: vertices, edges of each, rounds.
 */
public class GraphAlgorithms {
    private final Graph<Integer, DefaultWeightedEdge> graph = new DefaultDirectedWeightedGraph<>(DefaultWeightedEdge.class);
    private final int vertices;

    GraphAlgorithms(int vertices, int degree) {
        this.vertices = vertices;
        Rng rng = new Rng(17);
        for (int v = 0; v < vertices; v++) {
            graph.addVertex(v);
        }
        for (int v = 0; v < vertices; v++) {
            for (int e = 0; e < degree; e++) {
                int far = rng.below(10) == 0 ? rng.below(vertices) : (v + 1 + rng.skewed(200)) % vertices;
                DefaultWeightedEdge edge = far == v ? null : graph.addEdge(v, far);
                if (edge != null) {
                    graph.setEdgeWeight(edge, 1 + rng.below(100));
                }
            }
        }
    }

    public static void main(String[] args) {
        int vertices = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        int degree = args.length > 1 ? Integer.parseInt(args[1]) : 5;
        int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 1;
        long start = System.nanoTime();
        GraphAlgorithms program = new GraphAlgorithms(vertices, degree);
        Figures.metric("build_s", Figures.seconds(start));
        Figures.result("graph", vertices + " vertices " + program.graph.edgeSet().size() + " edges");
        String first = null;
        start = System.nanoTime();
        for (int round = 0; round < rounds; round++) {
            String result = program.round();
            Figures.require(first == null || first.equals(result), "round " + round + ": " + result);
            first = result;
        }
        Figures.metric("run_s", Figures.seconds(start));
        System.out.print(first);
    }

    private String round() {
        StringBuilder text = new StringBuilder();
        line(text, "breadth-first", order(new BreadthFirstIterator<>(graph, 0)));
        line(text, "depth-first", order(new DepthFirstIterator<>(graph, 0)));
        Checksum ranks = new Checksum();
        PageRank<Integer, DefaultWeightedEdge> rank = new PageRank<>(graph, 0.85, 20, 1e-9);
        for (int v = 0; v < vertices; v++) {
            ranks.add(Math.round(rank.getVertexScore(v) * 1e12));
        }
        line(text, "page-rank", ranks);
        Checksum paths = new Checksum();
        DijkstraShortestPath<Integer, DefaultWeightedEdge> dijkstra = new DijkstraShortestPath<>(graph);
        for (int i = 0; i < 3; i++) {
            for (int v = 0; v < vertices; v += vertices / 50 + 1) {
                paths.add(dijkstra.getPathWeight(i * 7 % vertices, v));
            }
        }
        BidirectionalDijkstraShortestPath<Integer, DefaultWeightedEdge> both =
            new BidirectionalDijkstraShortestPath<>(graph);
        for (int i = 0; i < 20; i++) {
            GraphPath<Integer, DefaultWeightedEdge> path = both.getPath(i, vertices - 1 - i * 31 % vertices);
            paths.add(path == null ? -1 : path.getWeight());
        }
        line(text, "paths", paths);
        KosarajuStrongConnectivityInspector<Integer, DefaultWeightedEdge> strong =
            new KosarajuStrongConnectivityInspector<>(graph);
        int largest = 0;
        for (Set<Integer> set : strong.stronglyConnectedSets()) {
            largest = Math.max(largest, set.size());
        }
        line(text, "strong-components", strong.stronglyConnectedSets().size() + " largest " + largest);
        Graph<Integer, DefaultWeightedEdge> undirected = new AsUndirectedGraph<>(graph);
        line(text, "spanning-tree", new KruskalMinimumSpanningTree<>(undirected).getSpanningTree().getWeight());
        line(text, "flow", new PushRelabelMFImpl<>(graph).calculateMaximumFlow(0, vertices / 2));
        Map<Integer, Integer> colors = new GreedyColoring<>(undirected).getColoring().getColors();
        Checksum coloring = new Checksum();
        for (int v = 0; v < vertices; v++) {
            coloring.add(colors.get(v));
        }
        line(text, "coloring", coloring);
        line(text, "matching", new GreedyMaximumCardinalityMatching<>(undirected, true).getMatching().getEdges().size());
        line(text, "clusters", new LabelPropagationClustering<>(undirected, new java.util.Random(4)).getClustering()
            .getNumberClusters());
        double coefficient = new ClusteringCoefficient<>(graph).getAverageClusteringCoefficient();
        line(text, "coefficient", Math.round(coefficient * 1e9));
        return text.toString();
    }

    private static Checksum order(Iterator<Integer> vertices) {
        Checksum checksum = new Checksum();
        vertices.forEachRemaining(v -> checksum.add(v.longValue()));
        return checksum;
    }

    private static void line(StringBuilder text, String name, Object value) {
        text.append(name).append(' ').append(value).append('\n');
    }
}
