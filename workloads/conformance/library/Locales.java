import java.util.Currency;
import java.util.ListResourceBundle;
import java.util.Locale;
import java.util.MissingResourceException;
import java.util.ResourceBundle;

public class Locales {
    public static class Messages extends ListResourceBundle {
        @Override
        protected Object[][] getContents() {
            return new Object[][] {{"hello", "Hello"}, {"bye", "Bye"}, {"number", 42}};
        }
    }

    public static class Messages_de extends ListResourceBundle {
        @Override
        protected Object[][] getContents() {
            return new Object[][] {{"hello", "Hallo"}};
        }
    }

    public static void main(String[] args) {
        Locale swiss = new Locale("de", "CH");
        System.out.println(swiss + " " + swiss.toLanguageTag() + " " + swiss.getDisplayLanguage(Locale.ENGLISH) + " "
            + swiss.getDisplayCountry(Locale.FRENCH) + " " + Locale.forLanguageTag("zh-Hant-TW").getScript() + " "
            + new Locale.Builder().setLanguage("sr").setScript("Latn").build());
        ResourceBundle german = ResourceBundle.getBundle("Locales$Messages", swiss);
        System.out.println(german.getString("hello") + " " + german.getString("bye") + " " + german.getObject("number")
            + " " + german.getLocale());
        ResourceBundle root = ResourceBundle.getBundle("Locales$Messages", Locale.ROOT);
        System.out.println(root.getString("hello") + " " + new java.util.TreeSet<>(root.keySet()));
        try {
            root.getString("missing");
        } catch (MissingResourceException e) {
            System.out.println(e.getMessage());
        }
        try {
            ResourceBundle.getBundle("does.not.Exist", Locale.ROOT);
        } catch (MissingResourceException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Currency.getInstance("EUR").getDefaultFractionDigits() + " " + Currency.getInstance(Locale.JAPAN)
            + " " + Currency.getInstance("USD").getSymbol(Locale.US));
        System.out.println("TITLE".toLowerCase(new Locale("tr")) + " " + "i".toUpperCase(new Locale("tr")));
        System.out.println(Locale.getISOCountries().length > 200);
        System.out.println(java.time.DayOfWeek.MONDAY.getDisplayName(java.time.format.TextStyle.FULL, Locale.GERMAN) + " "
            + java.time.Month.MAY.getDisplayName(java.time.format.TextStyle.SHORT, new Locale("es")));
    }
}
