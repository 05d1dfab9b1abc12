package suite;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BiConsumer;

/**
 * Collision detection between aircraft: positions in a red-black tree, a coarse grid of cells that finds candidates,
 * and vector arithmetic on immutable points. Small short-lived objects, comparisons through an interface, doubles.
 */
public class Collisions {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(6, size); i > 0; i--) {
                sum = sum * 31 + flight(300 + i);
            }
            return sum;
        });
    }

    /** Six seconds of flight, in which all aircraft meet one that comes the other way. */
    private static long flight(int aircraft) {
        Detector detector = new Detector();
        long sum = 0;
        for (int frame = 0; frame < 60; frame++) {
            List<Collision> collisions = detector.next(positions(aircraft, frame * 0.1));
            for (Collision collision : collisions) {
                sum = sum * 31 + collision.first().number() * 1009L + collision.second().number();
                sum += (long) (collision.at().x() * 1000) + (long) (collision.at().z() * 1000);
            }
            sum = sum * 7 + collisions.size();
        }
        return sum;
    }

    /** Aircraft in rows that fly towards each other. */
    private static List<Sighting> positions(int count, double time) {
        List<Sighting> all = new ArrayList<>();
        for (int i = 0; i < count; i += 2) {
            double x = (i * 37 % 400) - 200;
            double sway = (i % 10) * 0.5;
            double wave = triangle(time + i * 0.07);
            all.add(new Sighting(new Sign(i), new Vector(x, time * 10 - 25 + sway, 5 + wave)));
            all.add(new Sighting(new Sign(i + 1), new Vector(x, 25 - time * 10 - sway, 5 - wave)));
        }
        return all;
    }

    /** A wave between -2 and 2. */
    private static double triangle(double t) {
        double part = t - Math.floor(t);
        return part < 0.5 ? 8 * part - 2 : 6 - 8 * part;
    }

    /** A point or a direction in space. */
    record Vector(double x, double y, double z) {
        Vector plus(Vector other) {
            return new Vector(x + other.x, y + other.y, z + other.z);
        }

        Vector minus(Vector other) {
            return new Vector(x - other.x, y - other.y, z - other.z);
        }

        Vector times(double factor) {
            return new Vector(x * factor, y * factor, z * factor);
        }

        double dot(Vector other) {
            return x * other.x + y * other.y + z * other.z;
        }

        double length() {
            return Math.sqrt(dot(this));
        }
    }

    /** The call sign of an aircraft. */
    record Sign(int number) implements Comparable<Sign> {
        @Override
        public int compareTo(Sign other) {
            return Integer.compare(number, other.number);
        }
    }

    /** A cell of the grid. */
    record Cell(int column, int row) implements Comparable<Cell> {
        @Override
        public int compareTo(Cell other) {
            int columns = Integer.compare(column, other.column);
            return columns != 0 ? columns : Integer.compare(row, other.row);
        }
    }

    record Sighting(Sign sign, Vector at) {}

    record Collision(Sign first, Sign second, Vector at) {}

    /** The way of one aircraft during a frame. */
    record Motion(Sign sign, Vector from, Vector to) {
        Vector delta() {
            return to.minus(from);
        }

        /** Where the two are when they first come too close; null if they do not. */
        Vector meeting(Motion other) {
            Vector between = from.minus(other.from);
            Vector closing = delta().minus(other.delta());
            double a = closing.dot(closing);
            double b = 2 * between.dot(closing);
            double c = between.dot(between) - NEAR * NEAR;
            double time;
            if (c <= 0) {
                time = 0;
            } else if (a == 0) {
                return null;
            } else {
                double under = b * b - 4 * a * c;
                if (under < 0) {
                    return null;
                }
                time = (-b - Math.sqrt(under)) / (2 * a);
                if (time < 0 || time > 1) {
                    return null;
                }
            }
            Vector mine = from.plus(delta().times(time));
            Vector theirs = other.from.plus(other.delta().times(time));
            return mine.plus(theirs).times(0.5);
        }
    }

    private static final double NEAR = 1.0;
    private static final double CELL_SIZE = 4.0;

    /** Remembers all positions, and compares the paths since then. */
    static final class Detector {
        private final Tree<Sign, Vector> last = new Tree<>();

        List<Collision> next(List<Sighting> sightings) {
            List<Motion> motions = new ArrayList<>();
            for (Sighting sighting : sightings) {
                Vector before = last.put(sighting.sign(), sighting.at());
                Vector from = before == null ? sighting.at() : before;
                motions.add(new Motion(sighting.sign(), from, sighting.at()));
            }
            Tree<Cell, List<Motion>> grid = new Tree<>();
            for (Motion motion : motions) {
                enter(motion, grid);
            }
            List<Collision> found = new ArrayList<>();
            grid.forEach((cell, inside) -> collect(inside, found));
            return found;
        }

        /** Puts the motion into every cell that its way, widened by the distance, may touch. */
        private static void enter(Motion motion, Tree<Cell, List<Motion>> grid) {
            int left = cell(Math.min(motion.from().x(), motion.to().x()) - NEAR);
            int right = cell(Math.max(motion.from().x(), motion.to().x()) + NEAR);
            int top = cell(Math.min(motion.from().y(), motion.to().y()) - NEAR);
            int bottom = cell(Math.max(motion.from().y(), motion.to().y()) + NEAR);
            for (int column = left; column <= right; column++) {
                for (int row = top; row <= bottom; row++) {
                    Cell cell = new Cell(column, row);
                    List<Motion> inside = grid.get(cell);
                    if (inside == null) {
                        inside = new ArrayList<>();
                        grid.put(cell, inside);
                    }
                    inside.add(motion);
                }
            }
        }

        private static int cell(double coordinate) {
            return (int) Math.floor(coordinate / CELL_SIZE);
        }

        private static void collect(List<Motion> inside, List<Collision> found) {
            for (int i = 0; i < inside.size() - 1; i++) {
                Motion first = inside.get(i);
                for (int j = i + 1; j < inside.size(); j++) {
                    Motion second = inside.get(j);
                    Vector at = first.meeting(second);
                    if (at != null) {
                        found.add(new Collision(first.sign(), second.sign(), at));
                    }
                }
            }
        }
    }

    /** A red-black tree. */
    static final class Tree<K extends Comparable<K>, V> {
        private Node<K, V> root;

        private static final class Node<K, V> {
            final K key;
            V value;
            Node<K, V> left;
            Node<K, V> right;
            Node<K, V> parent;
            boolean red = true;

            Node(K key, V value, Node<K, V> parent) {
                this.key = key;
                this.value = value;
                this.parent = parent;
            }
        }

        V get(K key) {
            Node<K, V> at = root;
            while (at != null) {
                int order = key.compareTo(at.key);
                if (order == 0) {
                    return at.value;
                }
                at = order < 0 ? at.left : at.right;
            }
            return null;
        }

        /** Sets the value of a key and returns the one that it had. */
        V put(K key, V value) {
            Node<K, V> parent = null;
            Node<K, V> at = root;
            int order = 0;
            while (at != null) {
                order = key.compareTo(at.key);
                if (order == 0) {
                    V before = at.value;
                    at.value = value;
                    return before;
                }
                parent = at;
                at = order < 0 ? at.left : at.right;
            }
            Node<K, V> node = new Node<>(key, value, parent);
            if (parent == null) {
                root = node;
            } else if (order < 0) {
                parent.left = node;
            } else {
                parent.right = node;
            }
            balance(node);
            return null;
        }

        void forEach(BiConsumer<K, V> action) {
            Node<K, V> at = root;
            while (at != null && at.left != null) {
                at = at.left;
            }
            while (at != null) {
                action.accept(at.key, at.value);
                at = next(at);
            }
        }

        private static <K, V> Node<K, V> next(Node<K, V> node) {
            if (node.right != null) {
                Node<K, V> at = node.right;
                while (at.left != null) {
                    at = at.left;
                }
                return at;
            }
            Node<K, V> at = node;
            while (at.parent != null && at.parent.right == at) {
                at = at.parent;
            }
            return at.parent;
        }

        /** No red node has a red child, all ways down have equally many black ones. */
        private void balance(Node<K, V> added) {
            Node<K, V> node = added;
            while (node.parent != null && node.parent.red) {
                Node<K, V> parent = node.parent;
                Node<K, V> grand = parent.parent;
                boolean onLeft = parent == grand.left;
                Node<K, V> uncle = onLeft ? grand.right : grand.left;
                if (uncle != null && uncle.red) {
                    parent.red = false;
                    uncle.red = false;
                    grand.red = true;
                    node = grand;
                    continue;
                }
                if (node == (onLeft ? parent.right : parent.left)) {
                    rotate(parent, onLeft);
                    parent = node;
                }
                parent.red = false;
                grand.red = true;
                rotate(grand, !onLeft);
                break;
            }
            root.red = false;
        }

        /** Puts a child of the node into its place: the right one when turning left. */
        private void rotate(Node<K, V> node, boolean left) {
            Node<K, V> child = left ? node.right : node.left;
            Node<K, V> moved = left ? child.left : child.right;
            Node<K, V> parent = node.parent;
            if (left) {
                node.right = moved;
                child.left = node;
            } else {
                node.left = moved;
                child.right = node;
            }
            if (moved != null) {
                moved.parent = node;
            }
            child.parent = parent;
            node.parent = child;
            if (parent == null) {
                root = child;
            } else if (parent.left == node) {
                parent.left = child;
            } else {
                parent.right = child;
            }
        }
    }
}
