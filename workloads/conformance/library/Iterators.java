import java.util.ArrayList;
import java.util.Enumeration;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.PrimitiveIterator;
import java.util.Spliterator;
import java.util.Vector;
import java.util.stream.IntStream;
import java.util.stream.StreamSupport;

public class Iterators {
    static class Range implements Iterable<Integer> {
        final int from;
        final int to;

        Range(int from, int to) {
            this.from = from;
            this.to = to;
        }

        @Override
        public Iterator<Integer> iterator() {
            return new Iterator<>() {
                int next = from;

                @Override
                public boolean hasNext() {
                    return next < to;
                }

                @Override
                public Integer next() {
                    if (!hasNext()) {
                        throw new NoSuchElementException("past " + to);
                    }
                    return next++;
                }
            };
        }
    }

    public static void main(String[] args) {
        int sum = 0;
        for (int i : new Range(3, 9)) {
            sum += i;
        }
        System.out.println(sum);
        Iterator<Integer> it = new Range(0, 1).iterator();
        it.next();
        try {
            it.next();
        } catch (NoSuchElementException e) {
            System.out.println(e.getMessage());
        }
        try {
            it.remove();
        } catch (UnsupportedOperationException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(StreamSupport.stream(new Range(0, 10).spliterator(), false).map(x -> x * x).toList());
        List<Integer> out = new ArrayList<>();
        new Range(5, 8).forEach(out::add);
        Spliterator<Integer> s = new ArrayList<>(List.of(1, 2, 3, 4, 5, 6, 7, 8)).spliterator();
        Spliterator<Integer> half = s.trySplit();
        System.out.println(half.estimateSize() + " " + s.estimateSize() + " " + s.hasCharacteristics(Spliterator.SIZED));
        half.tryAdvance(out::add);
        s.forEachRemaining(out::add);
        System.out.println(out);
        Enumeration<String> e = new Vector<>(List.of("x", "y")).elements();
        while (e.hasMoreElements()) {
            System.out.print(e.nextElement());
        }
        System.out.println();
        PrimitiveIterator.OfInt ints = IntStream.range(0, 3).iterator();
        System.out.println(ints.nextInt() + ints.next());
    }
}
