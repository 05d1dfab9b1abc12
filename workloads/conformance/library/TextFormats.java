import java.text.BreakIterator;
import java.text.ChoiceFormat;
import java.text.Collator;
import java.text.DecimalFormat;
import java.text.DecimalFormatSymbols;
import java.text.MessageFormat;
import java.text.Normalizer;
import java.text.NumberFormat;
import java.text.ParseException;
import java.util.Arrays;
import java.util.Locale;

public class TextFormats {
    public static void main(String[] args) throws ParseException {
        DecimalFormatSymbols root = DecimalFormatSymbols.getInstance(Locale.ROOT);
        for (String pattern : new String[] {"#,##0.00", "000.###", "0.##E0", "#%", "$#,##0;(#)"}) {
            DecimalFormat f = new DecimalFormat(pattern, root);
            System.out.println(pattern + " " + f.format(1234.5678) + " " + f.format(-0.25) + " " + f.format(0));
        }
        System.out.println(new DecimalFormat("#,##0.##", root).parse("12,345.67 rest"));
        try {
            NumberFormat.getInstance(Locale.ROOT).parse("x");
        } catch (ParseException e) {
            System.out.println(e.getMessage() + " " + e.getErrorOffset());
        }
        System.out.println(NumberFormat.getInstance(Locale.GERMANY).format(1234567.891) + " "
            + NumberFormat.getPercentInstance(Locale.US).format(0.256) + " "
            + NumberFormat.getCurrencyInstance(Locale.US).format(1234.5) + " "
            + NumberFormat.getCompactNumberInstance(Locale.US, NumberFormat.Style.SHORT).format(12345));
        System.out.println(new MessageFormat("{0} has {1,number,integer} {1,choice,0#files|1#file|1<files} {2}", Locale.ROOT)
            .format(new Object[] {"disk", 3, "it''s"}));
        System.out.println(MessageFormat.format("'{'{0}'}' {1}", "a", "b"));
        System.out.println(new ChoiceFormat("0#none|1#one|2#many").format(7));
        String[] words = {"zebra", "Apple", "\u00e9clair", "apple", "eclair"};
        Arrays.sort(words, Collator.getInstance(Locale.FRENCH));
        System.out.println(Arrays.toString(words));
        System.out.println(Normalizer.normalize("\u00e9", Normalizer.Form.NFD).length());
        BreakIterator it = BreakIterator.getWordInstance(Locale.ENGLISH);
        it.setText("Hello there, world.");
        StringBuilder sb = new StringBuilder();
        for (int i = it.first(); i != BreakIterator.DONE; i = it.next()) {
            sb.append(i).append(' ');
        }
        System.out.println(sb);
    }
}
