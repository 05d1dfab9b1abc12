import java.util.Formatter;
import java.util.IllegalFormatException;
import java.util.Locale;

public class Formatting {
    static void f(String format, Object... args) {
        try {
            System.out.println("[" + String.format(Locale.ROOT, format, args) + "]");
        } catch (IllegalFormatException e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    public static void main(String[] args) {
        f("%d %5d %-5d| %05d %+d %,d %(d % d", 1, 2, 3, 4, 5, 1234567, -8, 9);
        f("%x %X %#x %o %08x %x", 255, 255, 255, 8, 48879, (byte) -1);
        f("%f %.2f %10.3f %-10.1f| %e %.3E %g %a", 1.5, 2.345, Math.PI, 2.25, 12345.678, 0.00012, 0.0001234, 1.0);
        f("%s %10s %-10s| %.3s %S %s", "a", "b", "c", "abcdef", "up", null);
        f("%c %C %c %b %B %b %h", 'x', 'y', 65, true, "x", null, "hash");
        f("%2$s %1$s %<s %s %%%n", "one", "two");
        f("%,.2f %(,.2f %f %f %f", 1234567.891, -1234.5, Double.NaN, Double.POSITIVE_INFINITY, -0.0);
        f("%d %d %d %s", Long.MIN_VALUE, new java.math.BigInteger("123456789012345678901234567890"), (short) -3, new int[0].length);
        f("%.10f %.0f %.0f %.1f", 0.1, 0.5, 1.5, 0.25);
        f("%tY-%<tm-%<td %<tH:%<tM:%<tS", java.time.LocalDateTime.of(2020, 2, 29, 13, 14, 15));
        f("%q", 1);
        f("%d", "text");
        f("%s %s", 1);
        f("%-d", 1);
        f("%.2d", 1);
        f("%5$s", 1);
        f("%,x", 1);
        StringBuilder sb = new StringBuilder();
        try (Formatter formatter = new Formatter(sb, Locale.GERMANY)) {
            formatter.format("%,d %,.3f", 1234567, 9876.5);
        }
        System.out.println(sb);
        System.out.printf(Locale.FRANCE, "%.2f%n", 3.14159);
        System.out.println(String.format("%s", new Object() {
            @Override
            public String toString() {
                return "custom";
            }
        }));
    }
}
