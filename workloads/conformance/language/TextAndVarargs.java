import java.util.Arrays;
import java.util.List;

public class TextAndVarargs {
    static String pick(Object o) {
        return "object";
    }

    static String pick(Object... o) {
        return "varargs " + (o == null ? "null" : o.length);
    }

    static String pick(int i) {
        return "int";
    }

    static String pick(long l) {
        return "long";
    }

    static String pick(Integer i) {
        return "Integer";
    }

    static int sum(int... xs) {
        int total = 0;
        for (int x : xs) {
            total += x;
        }
        return total;
    }

    @SafeVarargs
    static <T> List<T> list(T... ts) {
        return Arrays.asList(ts);
    }

    public static void main(String[] args) {
        String block = """
            Hello,
              "indented" \
            joined
            tab\tend\s
            \"""quotes\"""
            """;
        System.out.print(block);
        System.out.println(block.length());
        byte b = 1;
        System.out.println(pick(b) + " " + pick(1L) + " " + pick('c') + " " + pick(1.5f) + " "
            + pick(Integer.valueOf(3)) + " " + pick(1, 2) + " " + pick() + " " + pick((Object[]) null));
        System.out.println(sum() + " " + sum(1) + " " + sum(1, 2, 3) + " " + sum(new int[] {4, 5}));
        System.out.println(list(1, "a", 2.0) + " " + list().size());
        System.out.println(String.format("%s-%s-%s", new Object[] {1, 2, 3}));
        String s = null;
        s += "x";
        s += 1 + 2 + "y" + 1 + 2;
        System.out.println(s);
        char[] chars = {'o', 'k'};
        System.out.println(chars);
        System.out.println("c" + 'a' + 1 + ('a' + 1) + 1.0f + null + true + 10L);
        final String constant = "con" + "stant";
        System.out.println(constant == "constant");
        String half = "con";
        System.out.println((half + "stant") == "constant");
        System.out.println((half + "stant").intern() == "constant");
    }
}
