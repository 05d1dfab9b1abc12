import java.util.ArrayList;
import java.util.List;

// zeal
public class CardsAndCycles {
    static class Cell {
        Cell other;
        Object value;
        final Cell[] many = new Cell[3];
    }

    static Cell root = new Cell();
    static Object[] statics = new Object[100];

    public static void main(String[] args) {
        List<Cell> old = new ArrayList<>();
        for (int i = 0; i < 500; i++) {
            Cell c = new Cell();
            c.value = i;
            old.add(c);
        }
        System.gc();
        System.gc();
        // Old objects now point to new ones, which are only reachable through them.
        for (int round = 0; round < 10; round++) {
            for (int i = 0; i < old.size(); i++) {
                Cell fresh = new Cell();
                fresh.value = round * 1000 + i;
                fresh.other = old.get((i * 7) % old.size());
                old.get(i).many[round % 3] = fresh;
                statics[i % 100] = fresh;
            }
            for (int i = 0; i < 200; i++) {
                byte[] garbage = new byte[2000];
                garbage[1] = 1;
            }
            if (round % 5 == 0) {
                System.gc();
            }
        }
        long sum = 0;
        for (Cell c : old) {
            for (Cell m : c.many) {
                sum += (Integer) m.value + (Integer) m.other.value;
            }
        }
        System.out.println(sum);
        root.other = root;
        root.many[0] = root;
        for (int i = 0; i < 1000; i++) {
            Cell c = new Cell();
            c.other = root.other;
            c.value = root;
            root = c;
        }
        System.gc();
        int depth = 0;
        for (Object o = root; o instanceof Cell c && c.value != null; o = c.value) {
            depth++;
        }
        System.out.println(depth);
    }
}
