package propertygraph;

import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/**
 * A property graph: nodes and relationships as objects that refer to each other, and indexes that find nodes by a
 * property's value or by a range of values. One thread changes it; many may read it meanwhile only if it does not
 * change the part that they read.
 *
 * <p>Invariant: an index holds exactly the nodes that have the label and the property, under its present value.
 */
final class Graph {
    private record IndexName(String label, String property) {}

    private final List<Node> nodes = new ArrayList<>();
    private final Map<IndexName, NavigableMap<Object, Set<Node>>> indexes = new HashMap<>();
    private long relationships;

    /** From now on nodes of the label are found by the property. */
    void createIndex(String label, String property) {
        NavigableMap<Object, Set<Node>> index = new TreeMap<>();
        indexes.put(new IndexName(label, property), index);
        for (Node node : nodes) {
            Object value = node.property(property);
            if (node.label.equals(label) && value != null) {
                index.computeIfAbsent(value, key -> new LinkedHashSet<>(2)).add(node);
            }
        }
    }

    Node createNode(String label) {
        Node node = new Node(nodes.size(), label);
        nodes.add(node);
        return node;
    }

    void set(Node node, String property, Object value) {
        Object before = node.put(property, value);
        NavigableMap<Object, Set<Node>> index = indexes.get(new IndexName(node.label, property));
        if (index == null) {
            return;
        }
        if (before != null) {
            Set<Node> same = index.get(before);
            same.remove(node);
            if (same.isEmpty()) {
                index.remove(before);
            }
        }
        index.computeIfAbsent(value, key -> new LinkedHashSet<>(2)).add(node);
    }

    Relationship relate(Node start, String type, Node end) {
        Relationship relationship = new Relationship(type, start, end);
        start.attach(relationship);
        if (end != start) {
            end.attach(relationship);
        }
        relationships++;
        return relationship;
    }

    void remove(Relationship relationship) {
        relationship.start.detach(relationship);
        if (relationship.end != relationship.start) {
            relationship.end.detach(relationship);
        }
        relationships--;
    }

    /** Nodes with this value, through an index. */
    Set<Node> find(String label, String property, Object value) {
        return indexes.get(new IndexName(label, property)).getOrDefault(value, Set.of());
    }

    /** Nodes with a value from {@code low} up to but without {@code high}, by value. */
    Collection<Set<Node>> range(String label, String property, Object low, Object high) {
        return indexes.get(new IndexName(label, property)).subMap(low, high).values();
    }

    List<Node> nodes() {
        return nodes;
    }

    long relationships() {
        return relationships;
    }
}
