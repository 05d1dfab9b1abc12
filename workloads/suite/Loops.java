package suite;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Finds the loops of control-flow graphs and how they are nested: depth-first numbering, sets of predecessors,
 * union-find. Collections of objects, graph walks, iterators.
 */
public class Loops {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            Graph graph = sample(Harness.scaled(18, size));
            long sum = 0;
            for (int i = 0; i < 9; i++) {
                Forest forest = new Finder(graph).find();
                sum = sum * 31 + forest.checksum();
            }
            return sum;
        });
    }

    /** A graph with many nested loops, some of them with two entries. */
    private static Graph sample(int groups) {
        Graph graph = new Graph();
        int at = graph.block();
        for (int group = 0; group < groups; group++) {
            int top = at;
            for (int outer = 0; outer < 10; outer++) {
                int head = at;
                at = graph.straight(head, 1);
                for (int inner = 0; inner < 5; inner++) {
                    at = nest(graph, at, inner % 3 + 1);
                }
                graph.edge(at, head);
                at = graph.straight(at, 1);
            }
            graph.edge(at, top);
            at = graph.straight(at, 1);
            if (group % 8 == 0) {
                at = twoEntries(graph, at);
            }
        }
        return graph;
    }

    private static int nest(Graph graph, int from, int depth) {
        int head = graph.straight(from, 1);
        int then = graph.straight(head, 2);
        int other = graph.straight(head, 1);
        int join = graph.straight(then, 1);
        graph.edge(other, join);
        int end = depth == 0 ? join : nest(graph, join, depth - 1);
        graph.edge(end, head);
        return graph.straight(end, 1);
    }

    private static int twoEntries(Graph graph, int from) {
        int left = graph.straight(from, 1);
        int right = graph.straight(from, 1);
        graph.edge(left, right);
        graph.edge(right, left);
        return graph.straight(right, 1);
    }

    /** A basic block. */
    static final class Block {
        final int id;
        final List<Block> successors = new ArrayList<>();
        final List<Block> predecessors = new ArrayList<>();

        Block(int id) {
            this.id = id;
        }
    }

    /** Blocks and their edges; the first block is the entry. */
    static final class Graph {
        final List<Block> blocks = new ArrayList<>();

        int block() {
            blocks.add(new Block(blocks.size()));
            return blocks.size() - 1;
        }

        void edge(int from, int to) {
            blocks.get(from).successors.add(blocks.get(to));
            blocks.get(to).predecessors.add(blocks.get(from));
        }

        /** So many new blocks one after the other; returns the last. */
        int straight(int from, int count) {
            int at = from;
            for (int i = 0; i < count; i++) {
                int next = block();
                edge(at, next);
                at = next;
            }
            return at;
        }
    }

    /** A loop: its head, its own blocks, the loops inside. */
    static final class Loop {
        final Block head;
        final boolean reducible;
        final Set<Block> blocks = new LinkedHashSet<>();
        final Set<Loop> inside = new LinkedHashSet<>();
        Loop parent;
        int depth;

        Loop(Block head, boolean reducible) {
            this.head = head;
            this.reducible = reducible;
            if (head != null) {
                blocks.add(head);
            }
        }
    }

    /** All loops, below an artificial root. */
    static final class Forest {
        final Loop root = new Loop(null, true);
        final List<Loop> loops = new ArrayList<>();

        void close() {
            for (Loop loop : loops) {
                if (loop.parent == null) {
                    loop.parent = root;
                    root.inside.add(loop);
                }
            }
            nest(root, 0);
        }

        private void nest(Loop loop, int depth) {
            loop.depth = depth;
            for (Loop inner : loop.inside) {
                nest(inner, depth + 1);
            }
        }

        long checksum() {
            long sum = loops.size();
            for (Loop loop : loops) {
                sum = sum * 31 + loop.blocks.size() * 64L + loop.depth * 2 + (loop.reducible ? 1 : 0);
            }
            return sum;
        }
    }

    /** A block's place in a union-find forest: those of one loop have one representative, its head. */
    static final class Node {
        Node parent = this;
        final Block block;
        final int number;
        Loop loop;

        Node(Block block, int number) {
            this.block = block;
            this.number = number;
        }

        Node find() {
            Node top = this;
            while (top.parent != top) {
                top = top.parent;
            }
            for (Node at = this; at != top; ) {
                Node next = at.parent;
                at.parent = top;
                at = next;
            }
            return top;
        }
    }

    /** The work of one search. */
    static final class Finder {
        private final Graph graph;
        private final Map<Block, Integer> numbers = new HashMap<>();
        private final Node[] nodes;
        private final int[] lasts;
        private final Forest forest = new Forest();

        Finder(Graph graph) {
            this.graph = graph;
            nodes = new Node[graph.blocks.size()];
            lasts = new int[nodes.length];
            Arrays.fill(lasts, -1);
        }

        Forest find() {
            number(graph.blocks.get(0));
            int count = numbers.size();
            List<Set<Integer>> entering = new ArrayList<>(count);
            List<List<Integer>> returning = new ArrayList<>(count);
            for (int i = 0; i < count; i++) {
                entering.add(new HashSet<>());
                returning.add(new ArrayList<>());
                for (Block block : nodes[i].block.predecessors) {
                    Integer from = numbers.get(block);
                    if (from == null) {
                        continue;
                    }
                    if (isAncestor(i, from)) {
                        returning.get(i).add(from);
                    } else {
                        entering.get(i).add(from);
                    }
                }
            }
            for (int head = count - 1; head >= 0; head--) {
                findAt(head, entering, returning.get(head));
            }
            forest.close();
            return forest;
        }

        /** Numbers the blocks in depth-first order, and notes the last descendant of each. */
        private void number(Block entry) {
            record Visit(Block block, int[] next) {}
            Deque<Visit> open = new ArrayDeque<>();
            start(entry);
            open.push(new Visit(entry, new int[1]));
            while (!open.isEmpty()) {
                Visit visit = open.peek();
                List<Block> successors = visit.block().successors;
                if (visit.next()[0] < successors.size()) {
                    Block next = successors.get(visit.next()[0]++);
                    if (!numbers.containsKey(next)) {
                        start(next);
                        open.push(new Visit(next, new int[1]));
                    }
                } else {
                    lasts[numbers.get(visit.block())] = numbers.size() - 1;
                    open.pop();
                }
            }
        }

        private void start(Block block) {
            int number = numbers.size();
            numbers.put(block, number);
            nodes[number] = new Node(block, number);
        }

        private boolean isAncestor(int ancestor, int of) {
            return ancestor <= of && of <= lasts[ancestor];
        }

        /** Collects the body of the loop whose head is the block with the given number, if there is one. */
        private void findAt(int head, List<Set<Integer>> entering, List<Integer> returning) {
            Set<Node> body = new LinkedHashSet<>();
            boolean self = false;
            for (int from : returning) {
                if (from == head) {
                    self = true;
                } else {
                    body.add(nodes[from].find());
                }
            }
            boolean reducible = true;
            Deque<Node> open = new ArrayDeque<>(body);
            while (!open.isEmpty()) {
                Node node = open.poll();
                for (int from : entering.get(node.number)) {
                    Node source = nodes[from].find();
                    if (!isAncestor(head, source.number)) {
                        reducible = false;
                        entering.get(head).add(source.number);
                    } else if (source.number != head && body.add(source)) {
                        open.add(source);
                    }
                }
            }
            if (body.isEmpty() && !self) {
                return;
            }
            Loop loop = new Loop(nodes[head].block, reducible);
            forest.loops.add(loop);
            nodes[head].loop = loop;
            for (Node node : body) {
                node.parent = nodes[head];
                if (node.loop != null) {
                    node.loop.parent = loop;
                    loop.inside.add(node.loop);
                } else {
                    loop.blocks.add(node.block);
                }
            }
        }
    }
}
