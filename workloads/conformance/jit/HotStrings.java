import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.function.Function;
import java.util.function.IntFunction;

// vm: -XX:CompileThreshold=200
/** Strings in both encodings, of all lengths: searched, compared, hashed, converted; arrays compared; lambdas. */
public class HotStrings {
    private static final Random RANDOM = new Random(7);

    public static void main(String[] args) {
        long sum = 0;
        for (int round = 0; round < 1200; round++) {
            String narrow = text(round % 41, 'a', 3);
            String wide = text(round % 23, '\u0430', 3) + narrow;
            sum = sum * 31 + search(narrow, text(round % 4, 'a', 3)) + search(wide, text(1, '\u0430', 3));
            sum = sum * 31 + compare(narrow, text(round % 38, 'a', 2)) + compare(wide, narrow + "\u0430");
            sum = sum * 31 + convert(narrow) + convert(wide) + arrays(round % 37);
            sum = sum * 31 + lambdas(round, narrow);
        }
        System.out.println(Long.toHexString(sum));
        System.out.println(outside());
    }

    private static String text(int length, char first, int letters) {
        char[] chars = new char[length];
        for (int i = 0; i < length; i++) {
            chars[i] = (char) (first + RANDOM.nextInt(letters));
        }
        return new String(chars);
    }

    private static long search(String text, String part) {
        long sum = text.indexOf(part) + 31L * text.lastIndexOf(part) + text.indexOf(part, 3);
        sum = sum * 31 + text.indexOf('b') + text.indexOf('\u0431', 2) + text.indexOf('c', text.length() - 1);
        return sum * 31 + (text.contains(part) ? 1 : 0) + text.replace(part, "-").hashCode() + text.split("b").length;
    }

    private static int compare(String a, String b) {
        String same = new StringBuilder(a).toString();
        return a.compareTo(b) * 31 + (a.equals(same) ? 1 : 0) + a.compareTo(same + "x") + (a.equals(b) ? 2 : 0);
    }

    private static long convert(String text) {
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        byte[] latin1 = text.getBytes(StandardCharsets.ISO_8859_1);
        byte[] ascii = text.getBytes(StandardCharsets.US_ASCII);
        char[] chars = text.toCharArray();
        String back = new String(utf8, StandardCharsets.UTF_8);
        StringBuilder builder = new StringBuilder(new String(latin1, StandardCharsets.ISO_8859_1)).append('\u0416');
        return back.hashCode() + Arrays.hashCode(latin1) + Arrays.hashCode(ascii) + new String(chars).hashCode()
            + builder.append(text).reverse().toString().hashCode() + (back.equals(text) ? 1 : 0);
    }

    private static long arrays(int length) {
        long[] a = new long[length];
        long[] b = a.clone();
        byte[] c = new byte[length];
        byte[] d = new byte[length + 1];
        if (length > 2) {
            b[length - 2] = 1L << 40;
            d[length - 1] = -1;
        }
        Object[] objects = Collections.nCopies(length, "x").toArray();
        String[] strings = Arrays.asList(objects).subList(0, length / 2).toArray(new String[0]);
        return Arrays.mismatch(a, b) * 31L + Arrays.mismatch(c, d) + Arrays.compare(c, d) + strings.length
            + (Arrays.equals(a, b) ? 7 : 0) + mixed(length);
    }

    /** An element that does not fit stops the copy: those before it are copied. */
    private static int mixed(int length) {
        Object[] from = new Object[length];
        Arrays.fill(from, "s");
        if (length > 9) {
            from[7] = 1;
        }
        String[] to = new String[length];
        try {
            System.arraycopy(from, 0, to, 0, length);
        } catch (ArrayStoreException e) {
            return e.getMessage().hashCode() + (to[6] == null ? 0 : 1) + (to[7] == null ? 2 : 0);
        }
        return to.length;
    }

    private static long lambdas(int n, String text) {
        IntFunction<String> repeat = times -> text + times + n;
        Function<String, Integer> length = s -> s.length() + n;
        double d = n / 3.0;
        long l = n * 5L;
        Function<Integer, Double> both = i -> i * d + l;
        List<Integer> list = List.of(1, 2, n);
        return both.apply(length.apply(repeat.apply(n % 7))).hashCode() + list.stream().mapToInt(i -> i + n).sum();
    }

    private static String outside() {
        StringBuilder out = new StringBuilder();
        for (int i = 0; i < 600; i++) {
            out.setLength(0);
            for (int from : new int[] {-1, 0, 5, 6}) {
                try {
                    out.append("words".indexOf("r", from)).append("w\u0430rds".indexOf('\u0430', from));
                    // No characters, but the same in their lower halves.
                    out.append("\u4e00\uffff\uffc3".indexOf(-1, from)).append("\u4e00\uffc3".indexOf((byte) 0xc3, from));
                    out.append("words".getBytes().length).append(new String(new char[] {'a', '\u0430'}, from, 1));
                } catch (IndexOutOfBoundsException e) {
                    out.append(e.getMessage());
                }
                out.append(';');
            }
        }
        return out.toString();
    }
}
