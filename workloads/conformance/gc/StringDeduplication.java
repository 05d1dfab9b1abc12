// vm: -Xmx64m -XX:+UseStringDeduplication -XX:StringDeduplicationAgeThreshold=1 --add-opens=java.base/java.lang=ALL-UNNAMED
import java.lang.reflect.Field;
import java.util.ArrayList;
import java.util.Collections;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Set;

/** Equal strings share their characters after some collections, and stay what they are. */
public class StringDeduplication {
    private static final int KINDS = 100;
    private static final int COPIES = 200;

    public static void main(String[] args) throws Exception {
        Field value = String.class.getDeclaredField("value");
        value.setAccessible(true);
        List<String> strings = new ArrayList<>();
        for (int copy = 0; copy < COPIES; copy++) {
            for (int kind = 0; kind < KINDS; kind++) {
                strings.add(new String(text(kind).toCharArray()));
                // Garbage in between, so that the strings are moved.
                strings.add(new String(text(KINDS + copy * KINDS + kind).toCharArray()));
            }
        }
        List<String> kept = new ArrayList<>();
        for (int i = 0; i < strings.size(); i += 2) {
            kept.add(strings.get(i));
        }
        strings = null;
        long end = System.nanoTime() + 20_000_000_000L;
        while (arrays(value, kept) > KINDS * COPIES / 2 && System.nanoTime() < end) {
            System.gc();
            Thread.sleep(20);
        }
        System.out.println("at most half: " + (arrays(value, kept) <= KINDS * COPIES / 2));
        int hash = 0;
        for (int i = 0; i < kept.size(); i++) {
            if (!kept.get(i).equals(text(i % KINDS))) {
                throw new AssertionError(kept.get(i) + " is not " + text(i % KINDS));
            }
            hash = 31 * hash + kept.get(i).hashCode();
        }
        System.out.println(hash);
    }

    private static String text(int kind) {
        return kind % 2 == 0 ? "text of kind " + kind : "\u0416 of kind " + kind;
    }

    private static int arrays(Field value, List<String> strings) throws Exception {
        Set<Object> arrays = Collections.newSetFromMap(new IdentityHashMap<>());
        for (String string : strings) {
            arrays.add(value.get(string));
        }
        return arrays.size();
    }
}
