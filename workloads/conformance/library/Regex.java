import java.util.regex.MatchResult;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.regex.PatternSyntaxException;

public class Regex {
    public static void main(String[] args) {
        Matcher m = Pattern.compile("(?<key>\\w+)\\s*=\\s*(?<value>\"[^\"]*\"|\\d+)").matcher("a = 1, bb=\"two\", c =33");
        while (m.find()) {
            System.out.println(m.group("key") + " -> " + m.group("value") + " @" + m.start() + "-" + m.end(2));
        }
        System.out.println("2020-02-29".replaceAll("(\\d+)-(\\d+)-(\\d+)", "$3/$2/$1"));
        System.out.println(Pattern.compile("[aeiou]").matcher("education").replaceAll(r -> r.group().toUpperCase()));
        System.out.println(Pattern.compile("(a+)+b").matcher("aaaaaaab").matches() + " "
            + Pattern.matches("\\p{Lu}\\p{L}*", "\u00c9cole") + " " + "foobar".matches("foo(?=bar).*") + " "
            + "foobaz".matches("foo(?!bar).*") + " " + "xbar".matches(".(?<=x)bar"));
        System.out.println(Pattern.compile("^b", Pattern.MULTILINE).matcher("a\nb\nb").results().map(MatchResult::start).toList());
        System.out.println(Pattern.compile("A.C", Pattern.CASE_INSENSITIVE | Pattern.DOTALL).matcher("xa\nc").find());
        System.out.println("aXbXc".split("X").length + " " + Pattern.compile("\\s").splitAsStream("p q r").toList());
        Matcher lazy = Pattern.compile("<(.+?)>").matcher("<a><b>");
        lazy.find();
        Matcher greedy = Pattern.compile("<(.+)>").matcher("<a><b>");
        greedy.find();
        Matcher possessive = Pattern.compile("<(.++)>").matcher("<a><b>");
        System.out.println(lazy.group(1) + " " + greedy.group(1) + " " + possessive.find());
        System.out.println("abab".matches("(ab)\\1") + " " + "aabb".matches("(a)(?:a)(b)\\2") + " " + Pattern.quote("a.b"));
        StringBuilder sb = new StringBuilder();
        Matcher n = Pattern.compile("\\d+").matcher("a1b22c333");
        while (n.find()) {
            n.appendReplacement(sb, String.valueOf(n.group().length()));
        }
        n.appendTail(sb);
        System.out.println(sb + " " + n.reset().lookingAt() + " " + n.region(1, 2).matches());
        try {
            Pattern.compile("a(b");
        } catch (PatternSyntaxException e) {
            System.out.println(e.getMessage());
        }
        try {
            Pattern.compile("x").matcher("x").group();
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        System.out.println("tel: 555-1234".replaceAll("\\D", "") + " " + "[x]".replaceAll("[\\[\\]]", "") + " "
            + "a\tb".matches("a\\sb") + " " + "\ud83d\ude00".matches("."));
    }
}
