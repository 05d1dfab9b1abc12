import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Externalizable;
import java.io.IOException;
import java.io.InvalidClassException;
import java.io.InvalidObjectException;
import java.io.NotSerializableException;
import java.io.ObjectInput;
import java.io.ObjectInputFilter;
import java.io.ObjectInputStream;
import java.io.ObjectOutput;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

public class Serialization {
    enum Color { RED, GREEN }

    record Point(int x, int y) implements Serializable {
        Point {
            if (x > 1000) {
                throw new IllegalArgumentException("too large");
            }
        }
    }

    static class Parent {
        int notSaved = 5;

        Parent() {
            notSaved = 50;
        }
    }

    static class Node extends Parent implements Serializable {
        private static final long serialVersionUID = 1;
        String name;
        Node next;
        transient int cache = 9;
        List<Object> items = new ArrayList<>();
        int[] numbers = {1, 2};
        Color color = Color.GREEN;

        Node(String name) {
            this.name = name;
        }

        private void writeObject(ObjectOutputStream out) throws IOException {
            out.defaultWriteObject();
            out.writeInt(77);
        }

        private void readObject(ObjectInputStream in) throws IOException, ClassNotFoundException {
            in.defaultReadObject();
            cache = in.readInt();
        }
    }

    static class Single implements Serializable {
        static final Single INSTANCE = new Single();

        private Object readResolve() {
            return INSTANCE;
        }
    }

    public static class Custom implements Externalizable {
        int value;

        public Custom() {}

        @Override
        public void writeExternal(ObjectOutput out) throws IOException {
            out.writeInt(value * 2);
        }

        @Override
        public void readExternal(ObjectInput in) throws IOException {
            value = in.readInt();
        }
    }

    static byte[] write(Object o) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(o);
        }
        return bytes.toByteArray();
    }

    @SuppressWarnings("unchecked")
    static <T> T copy(T o) throws IOException, ClassNotFoundException {
        return (T) new ObjectInputStream(new ByteArrayInputStream(write(o))).readObject();
    }

    public static void main(String[] args) throws Exception {
        Node n = new Node("first");
        n.next = new Node("second");
        n.next.next = n;
        n.notSaved = 1;
        n.items.add(n);
        n.items.add(Map.of("k", 1));
        n.items.add(new Point(3, 4));
        Node c = copy(n);
        System.out.println(c.name + " " + c.next.name + " " + (c.next.next == c) + " " + c.cache + " " + c.notSaved + " " + (c.items.get(0) == c)
            + " " + c.items.subList(1, 3) + " " + c.numbers[1] + " " + (c.color == Color.GREEN));
        System.out.println((copy(Single.INSTANCE) == Single.INSTANCE) + " " + (copy(Color.RED) == Color.RED));
        Custom custom = new Custom();
        custom.value = 21;
        System.out.println(copy(custom).value);
        System.out.println(copy(new HashMap<>(Map.of(1, "a"))) + " " + copy(List.of(1, 2)) + " " + copy(new int[][] {{1}, {2, 3}})[1][1]
            + " " + copy(new RuntimeException("saved")).getMessage() + " " + copy(String.class) + " " + copy(new java.math.BigDecimal("1.50"))
            + " " + copy(java.time.LocalDate.of(2020, 1, 2)) + " " + copy(java.util.EnumSet.of(Color.RED)));
        Function<Integer, Integer> f = (Function<Integer, Integer> & Serializable) x -> x * 3;
        System.out.println(copy(f).apply(14));
        try {
            write(new Object());
        } catch (NotSerializableException e) {
            System.out.println(e.getMessage());
        }
        byte[] bytes = write(new Point(1000, 2));
        for (int i = 0; i + 1 < bytes.length; i++) {
            if (bytes[i] == 0x03 && bytes[i + 1] == (byte) 0xe8) {
                bytes[i] = 0x13;
            }
        }
        try {
            new ObjectInputStream(new ByteArrayInputStream(bytes)).readObject();
        } catch (InvalidObjectException e) {
            System.out.println(e.getMessage());
        }
        ObjectInputStream filtered = new ObjectInputStream(new ByteArrayInputStream(write(n)));
        filtered.setObjectInputFilter(ObjectInputFilter.Config.createFilter("!Serialization$Node"));
        try {
            filtered.readObject();
        } catch (InvalidClassException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(java.io.ObjectStreamClass.lookup(Node.class).getSerialVersionUID() + " "
            + java.io.ObjectStreamClass.lookup(Single.class).getSerialVersionUID() + " "
            + java.io.ObjectStreamClass.lookup(Node.class).getFields().length);
    }
}
