import java.util.Arrays;
import java.util.Locale;
import java.util.StringJoiner;
import java.util.StringTokenizer;

public class StringMethods {
    public static void main(String[] args) {
        String s = "  The quick brown fox  ";
        System.out.println("[" + s.trim() + "][" + s.strip() + "][" + s.stripLeading() + "][" + s.stripTrailing() + "]");
        System.out.println(s.indexOf("quick") + " " + s.lastIndexOf('o') + " " + s.indexOf('o', 15) + " " + s.indexOf("zzz")
            + " " + s.contains("fox") + " " + s.startsWith("The", 2) + " " + s.endsWith("  ") + " " + s.isBlank());
        System.out.println(s.replace('o', '0') + s.replace("quick", "slow") + s.replaceAll("[aeiou]", "*") + s.replaceFirst("\\s+", ""));
        System.out.println(Arrays.toString("a,b,,c,,".split(",")) + Arrays.toString("a,b,,c,,".split(",", -1))
            + Arrays.toString("a1b22c".split("\\d+")) + Arrays.toString("abc".split("")) + Arrays.toString("a.b".split("\\.", 1)));
        System.out.println("abc".compareTo("abd") + " " + "abc".compareTo("ab") + " " + "ABC".compareToIgnoreCase("abd")
            + " " + "a".equals(null) + " " + "Ab".equalsIgnoreCase("aB") + " " + "x".hashCode() + " " + "".hashCode());
        System.out.println("ab".repeat(3) + " " + String.join("-", "a", "b", "c") + " " + String.valueOf(new char[] {'h', 'i'})
            + " " + "HeLLo".toLowerCase() + "HeLLo".toUpperCase(Locale.ROOT) + " " + "abcdef".substring(2, 4) + "abc".charAt(1));
        System.out.println("l1\nl2\r\nl3\n".lines().toList() + " " + " x\n  y".indent(2).length() + " "
            + "  a\n b".stripIndent().length() + " " + "a\\tb".translateEscapes());
        System.out.println("abc".matches("[a-c]+") + " " + "hello".chars().sum() + " " + "abcabc".regionMatches(true, 3, "ABC", 0, 3)
            + " " + "text".contentEquals(new StringBuilder("text")) + " " + "%d-%s".formatted(4, "x") + " " + "a".concat("b"));
        for (int[] range : new int[][] {{-1, 2}, {2, 1}, {0, 9}}) {
            try {
                "abc".substring(range[0], range[1]);
            } catch (StringIndexOutOfBoundsException e) {
                System.out.println(e.getMessage());
            }
        }
        try {
            "abc".charAt(5);
        } catch (StringIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        StringJoiner joiner = new StringJoiner(", ", "{", "}").setEmptyValue("EMPTY");
        System.out.println(joiner);
        joiner.add("a").add("b");
        System.out.println(joiner + " " + joiner.length());
        StringTokenizer tokens = new StringTokenizer("a b;c", " ;", true);
        while (tokens.hasMoreTokens()) {
            System.out.print("<" + tokens.nextToken() + ">");
        }
        System.out.println();
        char[] into = new char[5];
        "hello world".getChars(6, 11, into, 0);
        System.out.println(into);
        System.out.println(new String("abc") == "abc");
        System.out.println(new String("abc").intern() == "abc");
        System.out.println("a\u0000b".length() + " " + "abc".transform(x -> x + x) + " " + "b".compareTo("a\uffff"));
    }
}
