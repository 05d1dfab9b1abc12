package propertygraph;

/** A directed edge with a type and properties. */
final class Relationship extends Entity {
    final String type;
    final Node start;
    final Node end;

    Relationship(String type, Node start, Node end) {
        this.type = type;
        this.start = start;
        this.end = end;
    }
}
