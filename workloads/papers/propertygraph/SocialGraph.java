package propertygraph;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.Arrays;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;

/**
 * People who know each other and like pages, in a property graph, and one of three questions: how they rank
 * (PageRank), how many triangles they form, or who is connected most (degree centrality). The links are as uneven
 * as in real networks. Before, some relationships are removed and made, and nodes are found by their properties.
 *
 * <p>Arguments: question (rank, triangles, degree), people, acquaintances of each, rounds, threads. Threads compute
 * nodes of their own and whole numbers, so their number changes nothing.
 */
public final class SocialGraph {
    private static final String KNOWS = "KNOWS";
    private static final String LIKES = "LIKES";
    private static final double DAMPING = 0.85;
    /** Nodes that a thread takes at a time. */
    private static final int CHUNK = 256;

    private final Graph graph = new Graph();
    private final Rng rng = new Rng(600);
    private final int threads;

    private SocialGraph(int threads) {
        this.threads = threads;
    }

    public static void main(String[] args) throws Exception {
        String question = args.length > 0 ? args[0] : "rank";
        int[] n = Numbers.of(args.length > 0 ? Arrays.copyOfRange(args, 1, args.length) : args,
            "people acquaintances rounds threads", 1000, 5, 3, 2);
        SocialGraph social = new SocialGraph(Math.max(1, n[3]));
        long start = System.nanoTime();
        social.build(n[0], n[1]);
        Figures.metric("load_s", Figures.seconds(start));
        social.change(n[0]);
        start = System.nanoTime();
        switch (question) {
            case "rank" -> social.rank(n[2]);
            case "triangles" -> social.triangles(n[2]);
            case "degree" -> social.degree(n[2]);
            default -> Figures.require(false, question + " is none of rank, triangles, degree");
        }
        Figures.metric("question_s", Figures.seconds(start));
        Figures.peak();
    }

    /** Each newcomer knows some of the earlier members, mostly friends of friends, so that triangles form. */
    private void build(int people, int acquaintances) {
        graph.createIndex("Person", "name");
        graph.createIndex("Person", "age");
        for (int i = 0; i < people; i++) {
            Node person = graph.createNode("Person");
            graph.set(person, "name", "person-" + i);
            graph.set(person, "age", 10 + rng.below(80));
            graph.set(person, "city", "city-" + rng.skewed(200));
            Node friend = i > 0 ? graph.nodes().get(rng.below(i)) : null;
            for (int k = rng.between(1, 2 * acquaintances - 1); k > 0 && i > 0; k--) {
                List<Relationship> further = friend.outgoing(KNOWS);
                boolean near = rng.below(3) > 0 && !further.isEmpty();
                Node next = near ? further.get(rng.below(further.size())).end : graph.nodes().get(rng.skewed(i));
                know(person, next);
                friend = rng.below(2) == 0 ? next : friend;
            }
        }
        int pages = people / 10 + 1;
        for (int i = 0; i < pages; i++) {
            graph.set(graph.createNode("Page"), "title", "page-" + i);
        }
        for (int i = 0; i < people; i++) {
            graph.relate(graph.nodes().get(i), LIKES, graph.nodes().get(people + rng.skewed(pages)));
        }
        Figures.result("nodes", graph.nodes().size());
        Figures.result("relationships", graph.relationships());
    }

    private void know(Node person, Node other) {
        Relationship knows = graph.relate(person, KNOWS, other);
        knows.put("since", 1950 + rng.below(70));
        knows.put("weight", rng.below(1000) / 10.0);
    }

    /** A tenth of the people have a birthday and change an acquaintance. */
    private void change(int people) {
        for (int i = 0; i < people / 10; i++) {
            Node person = graph.find("Person", "name", "person-" + rng.below(people)).iterator().next();
            graph.set(person, "age", (Integer) person.property("age") + 1);
            List<Relationship> known = person.outgoing(KNOWS);
            if (!known.isEmpty()) {
                graph.remove(known.get(rng.below(known.size())));
                know(person, graph.nodes().get(rng.skewed(people)));
            }
        }
        Collection<Set<Node>> young = graph.range("Person", "age", 20, 30);
        long friends = 0;
        for (Set<Node> sameAge : young) {
            for (Node person : sameAge) {
                friends += person.outgoing(KNOWS).size();
            }
        }
        Figures.result("acquaintances of those in their twenties", friends);
    }

    private void rank(int rounds) throws Exception {
        String[] names = {"rank-even", "rank-odd"};
        overNodes(node -> node.put(names[0], 1.0));
        for (int round = 0; round < rounds; round++) {
            String from = names[round % 2];
            String to = names[1 - round % 2];
            overNodes(node -> {
                double sum = 0;
                for (Relationship relationship : node.incoming(KNOWS)) {
                    Node other = relationship.start;
                    sum += (Double) other.property(from) / other.outgoing(KNOWS).size();
                }
                node.put(to, 1 - DAMPING + DAMPING * sum);
            });
        }
        String last = names[rounds % 2];
        Checksum checksum = new Checksum();
        graph.nodes().forEach(node -> checksum.add((Double) node.property(last)));
        Figures.result("ranks", checksum);
        graph.nodes().stream()
            .sorted(Comparator.comparing((Node node) -> -(Double) node.property(last)).thenComparing(node -> node.id))
            .limit(5)
            .forEach(node -> Figures.result(String.valueOf(node.property("name")),
                String.format(Locale.ROOT, "%.9f", (Double) node.property(last))));
    }

    /** Triangles of acquaintances, whichever of two knows the other; a node's set of neighbours is made when asked. */
    private void triangles(int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            overNodes(node -> node.put("neighbours", largerNeighbours(node)));
            overNodes(node -> {
                long found = 0;
                Set<Node> mine = neighbours(node);
                for (Node other : mine) {
                    Set<Node> theirs = neighbours(other);
                    Set<Node> fewer = mine.size() < theirs.size() ? mine : theirs;
                    Set<Node> more = fewer == mine ? theirs : mine;
                    for (Node third : fewer) {
                        found += more.contains(third) ? 1 : 0;
                    }
                }
                node.put("triangles", found);
            });
            Checksum checksum = new Checksum();
            long total = 0;
            for (Node node : graph.nodes()) {
                checksum.add((Long) node.property("triangles"));
                total += (Long) node.property("triangles");
            }
            Figures.result("triangles", total + " " + checksum);
        }
    }

    /** Neighbours with a larger number, so that each triangle is found once, at its smallest node. */
    private static Set<Node> largerNeighbours(Node node) {
        Set<Node> neighbours = new HashSet<>();
        for (Relationship relationship : node.outgoing(KNOWS)) {
            if (relationship.end.id > node.id) {
                neighbours.add(relationship.end);
            }
        }
        for (Relationship relationship : node.incoming(KNOWS)) {
            if (relationship.start.id > node.id) {
                neighbours.add(relationship.start);
            }
        }
        return neighbours;
    }

    @SuppressWarnings("unchecked")
    private static Set<Node> neighbours(Node node) {
        return (Set<Node>) node.property("neighbours");
    }

    /** Degrees in and out, weighted by how well people know each other, and the best connected of each city. */
    private void degree(int rounds) throws Exception {
        for (int round = 0; round < rounds; round++) {
            int weightMin = round * 10;
            overNodes(node -> {
                int in = (int) node.incoming(KNOWS).stream().filter(r -> strong(r, weightMin)).count();
                int out = (int) node.outgoing(KNOWS).stream().filter(r -> strong(r, weightMin)).count();
                node.put("degree", List.of(in, out, node.outgoing(LIKES).size() + node.incoming(LIKES).size()));
            });
            Checksum checksum = new Checksum();
            long total = 0;
            for (Node node : graph.nodes()) {
                List<?> degree = (List<?>) node.property("degree");
                for (Object count : degree) {
                    checksum.add((Integer) count);
                    total += (Integer) count;
                }
            }
            Figures.result("degrees", total + " " + checksum);
        }
        graph.nodes().stream()
            .sorted(Comparator.comparing((Node node) -> -(Integer) ((List<?>) node.property("degree")).get(0))
                .thenComparing(node -> node.id))
            .limit(5)
            .forEach(node -> Figures.result(String.valueOf(node.property("name")), node.property("degree")));
    }

    private static boolean strong(Relationship relationship, int weightMin) {
        return (Double) relationship.property("weight") >= weightMin;
    }

    private interface Visit {
        void node(Node node);
    }

    /** Visits all nodes, each thread chunks of its own. */
    private void overNodes(Visit visit) throws Exception {
        List<Node> nodes = graph.nodes();
        Crew.run("visitor", threads, worker -> {
            for (int from = worker * CHUNK; from < nodes.size(); from += threads * CHUNK) {
                for (Node node : nodes.subList(from, Math.min(nodes.size(), from + CHUNK))) {
                    visit.node(node);
                }
            }
        });
    }
}
