import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.Random;

public class ArraysUtility {
    public static void main(String[] args) {
        Random r = new Random(1);
        int[] ints = r.ints(700, 0, 1000).toArray();
        int[] sorted = ints.clone();
        Arrays.sort(sorted);
        System.out.println(sorted[0] + " " + sorted[350] + " " + sorted[699] + " " + Arrays.hashCode(sorted) + " "
            + Arrays.binarySearch(sorted, sorted[100]) / 100 + " " + Arrays.binarySearch(sorted, 5000));
        Arrays.sort(ints, 10, 20);
        System.out.println(Arrays.toString(Arrays.copyOfRange(ints, 10, 22)));
        double[] doubles = {3, Double.NaN, -0.0, 0.0, Double.NEGATIVE_INFINITY};
        Arrays.sort(doubles);
        System.out.println(Arrays.toString(doubles));
        byte[] bytes = new byte[300];
        r.nextBytes(bytes);
        Arrays.sort(bytes);
        char[] chars = "sorting characters".toCharArray();
        Arrays.sort(chars);
        System.out.println(bytes[0] + " " + bytes[299] + " " + new String(chars).trim());
        String[] words = "delta alpha charlie bravo echo".split(" ");
        Arrays.sort(words, Comparator.comparing((String w) -> w.charAt(w.length() - 1)).thenComparing(Collections.reverseOrder()));
        System.out.println(Arrays.toString(words));
        Integer[] boxed = Arrays.stream(ints).boxed().toArray(Integer[]::new);
        Arrays.sort(boxed, (a, b) -> b % 100 - a % 100 != 0 ? b % 100 - a % 100 : a - b);
        System.out.println(boxed[0] + " " + boxed[350] + " " + boxed[699]);
        long[] filled = new long[5];
        Arrays.fill(filled, 1, 3, 9L);
        Arrays.setAll(words, i -> words[i] + i);
        System.out.println(Arrays.toString(filled) + Arrays.asList(words) + Arrays.toString((int[]) null));
        Object[] deep = {1, new int[] {1, 2}, new Object[] {"x", null}};
        System.out.println(Arrays.deepToString(deep) + " " + Arrays.deepHashCode(deep) + " "
            + Arrays.deepEquals(deep, new Object[] {1, new int[] {1, 2}, new Object[] {"x", null}}));
        System.out.println(Arrays.equals(ints, 0, 5, ints, 0, 5) + " " + Arrays.copyOf(words, 7)[6] + " "
            + Arrays.mismatch("abc".getBytes(), "abd".getBytes()) + " " + Arrays.compare(new int[] {1, 2}, new int[] {1, 3}));
        try {
            Arrays.sort(ints, 5, 2);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Arrays.sort(new Object[] {1, "x"});
        } catch (ClassCastException e) {
            System.out.println("mixed");
        }
        try {
            Arrays.sort(boxed, (a, b) -> 1);
            System.out.println("unnoticed");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Arrays.copyOf(ints, -1);
        } catch (NegativeArraySizeException e) {
            System.out.println(e.getMessage());
        }
    }
}
