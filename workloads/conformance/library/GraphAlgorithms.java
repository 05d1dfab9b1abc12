import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Random;

// zeal
public class GraphAlgorithms {
    static class Vertex {
        final int id;
        final List<Edge> edges = new ArrayList<>();
        long distance = Long.MAX_VALUE;
        Vertex previous;

        Vertex(int id) {
            this.id = id;
        }
    }

    record Edge(Vertex to, int weight) {}

    record Item(Vertex vertex, long distance) {}

    public static void main(String[] args) {
        Random random = new Random(17);
        Vertex[] v = new Vertex[800];
        Arrays.setAll(v, Vertex::new);
        for (int i = 0; i < 3200; i++) {
            v[random.nextInt(v.length)].edges.add(new Edge(v[random.nextInt(v.length)], 1 + random.nextInt(100)));
        }
        PriorityQueue<Item> queue = new PriorityQueue<>((a, b) -> Long.compare(a.distance(), b.distance()));
        v[0].distance = 0;
        queue.add(new Item(v[0], 0));
        while (!queue.isEmpty()) {
            Item item = queue.poll();
            if (item.distance() > item.vertex().distance) {
                continue;
            }
            for (Edge e : item.vertex().edges) {
                long d = item.distance() + e.weight();
                if (d < e.to().distance) {
                    e.to().distance = d;
                    e.to().previous = item.vertex();
                    queue.add(new Item(e.to(), d));
                }
            }
        }
        long sum = 0;
        int reached = 0;
        for (Vertex x : v) {
            if (x.distance != Long.MAX_VALUE) {
                reached++;
                sum += x.distance;
            }
        }
        System.out.println(reached + " " + sum);
        Map<Integer, Integer> levels = new HashMap<>();
        ArrayDeque<Vertex> open = new ArrayDeque<>();
        open.add(v[0]);
        levels.put(0, 0);
        while (!open.isEmpty()) {
            Vertex x = open.poll();
            for (Edge e : x.edges) {
                if (levels.putIfAbsent(e.to().id, levels.get(x.id) + 1) == null) {
                    open.add(e.to());
                }
            }
        }
        System.out.println(levels.size() + " " + levels.values().stream().mapToInt(i -> i).max().getAsInt());
        int[] parent = new int[v.length];
        Arrays.setAll(parent, i -> i);
        int components = v.length;
        for (Vertex x : v) {
            for (Edge e : x.edges) {
                int a = find(parent, x.id);
                int b = find(parent, e.to().id);
                if (a != b) {
                    parent[a] = b;
                    components--;
                }
            }
        }
        System.out.println(components);
        StringBuilder path = new StringBuilder();
        for (Vertex x = v[find(parent, 5)]; x != null; x = x.previous) {
            path.append(x.id).append(' ');
        }
        System.out.println(path);
    }

    static int find(int[] parent, int i) {
        while (parent[i] != i) {
            parent[i] = parent[parent[i]];
            i = parent[i];
        }
        return i;
    }
}
