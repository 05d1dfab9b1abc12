import java.util.Arrays;
import java.util.BitSet;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;

public class SetsAndBits {
    public static void main(String[] args) {
        Set<Integer> a = new HashSet<>();
        Set<Integer> b = new LinkedHashSet<>();
        for (int i = 0; i < 60; i++) {
            a.add(i * i % 61);
            b.add(i * 5 % 37);
        }
        Set<Integer> both = new TreeSet<>(a);
        both.retainAll(b);
        System.out.println(both);
        Set<Integer> only = new TreeSet<>(a);
        only.removeAll(b);
        System.out.println(only + " " + b);
        System.out.println(a.containsAll(both) + " " + a.equals(new TreeSet<>(a)) + " " + a.hashCode() + " " + a.add(1));
        System.out.println(Collections.unmodifiableSet(both).size() + " " + new TreeSet<>(Set.of(1, 2, 3)));
        BitSet primes = new BitSet();
        primes.set(2, 500);
        for (int i = 2; i * i < 500; i++) {
            if (primes.get(i)) {
                for (int j = i * i; j < 500; j += i) {
                    primes.clear(j);
                }
            }
        }
        System.out.println(primes.cardinality() + " " + primes.nextSetBit(100) + " " + primes.previousClearBit(103)
            + " " + primes.length());
        BitSet even = new BitSet();
        for (int i = 0; i < 100; i += 2) {
            even.set(i);
        }
        BitSet x = (BitSet) primes.clone();
        x.and(even);
        System.out.println(x);
        x.xor(even);
        x.flip(0, 10);
        System.out.println(x.cardinality() + " " + x.intersects(primes) + " " + Arrays.toString(x.toLongArray())
            + " " + x.get(5, 20) + " " + x.hashCode());
        System.out.println(BitSet.valueOf(new byte[] {5, 1}) + " " + new BitSet().equals(new BitSet(1000)));
        System.out.println(List.copyOf(both).equals(new java.util.ArrayList<>(both)));
    }
}
