package suite;

/** Strings: building, searching, splitting, comparing, and loops over characters. */
public class Text {
    public static void main(String[] args) {
        String page = page(1200);
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(32, size); i > 0; i--) {
                sum = sum * 31 + lines(page);
                sum = sum * 31 + find(page);
                sum = sum * 31 + encode(page).hashCode();
                sum = sum * 31 + vowels(page);
            }
            return sum;
        });
    }

    private static String page(int lines) {
        String[] words = {"river", "stone", "the", "a", "Winter", "grows", "under", "light", "of", "bridge", "and"};
        Harness.Rng rng = new Harness.Rng(3);
        StringBuilder out = new StringBuilder();
        for (int line = 0; line < lines; line++) {
            for (int i = 5 + rng.below(6); i > 0; i--) {
                out.append(words[rng.below(words.length)]).append(rng.below(8) == 0 ? ", " : " ");
            }
            out.append(line % 7 == 0 ? "\u00e9t\u00e9" : "end").append(".\n");
        }
        return out.toString();
    }

    /** Splits into lines and words, and puts them together in another form. */
    private static int lines(String page) {
        StringBuilder out = new StringBuilder();
        int number = 0;
        for (String line : page.split("\n")) {
            String[] words = line.trim().split(" ");
            out.append(++number).append(": ");
            for (String word : words) {
                if (word.endsWith(",")) {
                    word = word.substring(0, word.length() - 1);
                }
                if (word.equals("the") || word.equals("a")) {
                    continue;
                }
                out.append(word.toUpperCase()).append('/').append(word.length());
            }
            out.append(';');
        }
        return out.toString().hashCode();
    }

    private static int find(String page) {
        int found = 0;
        for (String word : new String[] {"bridge", "Winter grows", "stone and", "nowhere"}) {
            for (int at = page.indexOf(word); at >= 0; at = page.indexOf(word, at + 1)) {
                found = found * 7 + at;
            }
            found += page.lastIndexOf(word) + (page.contains(word) ? 1 : 0);
        }
        return found;
    }

    /** Shifts letters and counts runs. */
    private static String encode(String page) {
        StringBuilder out = new StringBuilder(page.length());
        int i = 0;
        while (i < page.length()) {
            char c = page.charAt(i);
            int run = 1;
            while (i + run < page.length() && page.charAt(i + run) == c) {
                run++;
            }
            if (run > 1) {
                out.append(run);
            }
            if (c >= 'a' && c <= 'z') {
                c = (char) ('a' + (c - 'a' + 13) % 26);
            } else if (Character.isUpperCase(c)) {
                c = Character.toLowerCase(c);
            }
            out.append(c);
            i += run;
        }
        return out.reverse().toString();
    }

    private static int vowels(String page) {
        int count = 0;
        int hash = 17;
        for (char c : page.toCharArray()) {
            if ("aeiou".indexOf(c) >= 0) {
                count++;
            }
            hash = hash * 33 ^ c;
        }
        return count * 31 + hash;
    }
}
