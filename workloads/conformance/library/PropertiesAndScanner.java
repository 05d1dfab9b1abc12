// stdin: 12 text 3.5\nsecond line here\n99\n
import java.io.StringReader;
import java.io.StringWriter;
import java.util.InputMismatchException;
import java.util.Locale;
import java.util.Properties;
import java.util.Scanner;
import java.util.TreeMap;

public class PropertiesAndScanner {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.load(new StringReader("# comment\na=1\nb : two words \\\n   continued\nc\\ d=\\u0041\\t|\n! also\nempty\n"));
        System.out.println(new TreeMap<>(p));
        Properties child = new Properties(p);
        child.setProperty("a", "override");
        System.out.println(child.getProperty("a") + " " + child.getProperty("c d") + " " + child.getProperty("x", "default")
            + " " + child.stringPropertyNames().size() + " " + child.size());
        StringWriter out = new StringWriter();
        child.store(out, null);
        System.out.println(out.toString().contains("a=override"));
        Scanner in = new Scanner(System.in).useLocale(Locale.ROOT);
        System.out.println(in.nextInt() + " " + in.next() + " " + in.nextDouble() + "[" + in.nextLine() + "][" + in.nextLine() + "]");
        System.out.println(in.hasNextInt() + " " + in.nextLong() + " " + in.hasNext());
        Scanner text = new Scanner("a-b-c 1,2").useDelimiter("[-, ]");
        StringBuilder sb = new StringBuilder();
        while (text.hasNext()) {
            sb.append(text.hasNextInt() ? "i" + text.nextInt() : "s" + text.next());
        }
        System.out.println(sb);
        try {
            new Scanner("x").nextInt();
        } catch (InputMismatchException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(new Scanner("key=42").findInLine("(\\w+)=(\\d+)"));
        System.out.println(System.getProperty("java.version").startsWith("17") + " " + System.getProperty("file.separator")
            + " " + System.getProperty("none") + " " + System.lineSeparator().length() + " " + Integer.getInteger("none", 7)
            + " " + System.getProperty("java.specification.version") + " " + System.getProperty("os.name")
            + " " + System.getProperty("java.class.version") + " " + System.getProperty("user.dir").isEmpty());
    }
}
