package propertygraph;

import java.util.HashMap;
import java.util.Map;

/** The common part of nodes and relationships: properties by name. */
abstract class Entity {
    private final Map<String, Object> properties = new HashMap<>(4);

    Object property(String name) {
        return properties.get(name);
    }

    /** The value before, or null. Indexes are the graph's concern. */
    Object put(String name, Object value) {
        return properties.put(name, value);
    }
}
