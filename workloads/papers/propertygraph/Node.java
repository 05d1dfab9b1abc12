package propertygraph;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** A node with a label and properties, and its relationships by type and direction, in the order in which they came. */
final class Node extends Entity {
    final int id;
    final String label;
    private final Map<String, List<Relationship>> outgoing = new LinkedHashMap<>(4);
    private final Map<String, List<Relationship>> incoming = new LinkedHashMap<>(4);

    Node(int id, String label) {
        this.id = id;
        this.label = label;
    }

    List<Relationship> outgoing(String type) {
        return outgoing.getOrDefault(type, List.of());
    }

    List<Relationship> incoming(String type) {
        return incoming.getOrDefault(type, List.of());
    }

    /** Takes in a relationship that starts at this node, ends at it, or both. */
    void attach(Relationship relationship) {
        if (relationship.start == this) {
            outgoing.computeIfAbsent(relationship.type, type -> new ArrayList<>(2)).add(relationship);
        }
        if (relationship.end == this) {
            incoming.computeIfAbsent(relationship.type, type -> new ArrayList<>(2)).add(relationship);
        }
    }

    void detach(Relationship relationship) {
        if (relationship.start == this) {
            outgoing.get(relationship.type).remove(relationship);
        }
        if (relationship.end == this) {
            incoming.get(relationship.type).remove(relationship);
        }
    }
}
