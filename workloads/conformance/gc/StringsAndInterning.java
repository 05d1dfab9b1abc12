import java.util.ArrayList;
import java.util.List;

public class StringsAndInterning {
    static final String CONSTANT = "constant kept by the class";

    public static void main(String[] args) {
        List<String> interned = new ArrayList<>();
        for (int i = 0; i < 2000; i++) {
            String s = ("dynamic" + i).intern();
            if (i % 10 == 0) {
                interned.add(s);
            }
        }
        for (int i = 0; i < 4; i++) {
            System.gc();
        }
        int same = 0;
        for (int i = 0; i < 2000; i += 10) {
            same += ("dynamic" + i).intern() == interned.get(i / 10) ? 1 : 0;
        }
        System.out.println(same);
        System.out.println(("constant kept" + " by the class") == CONSTANT);
        System.out.println(new StringBuilder("constant kept").append(" by the class").toString().intern() == CONSTANT);
        System.out.println("dynamic15".equals(("dynamic" + 15).intern()));
        StringBuilder sb = new StringBuilder();
        for (int i = 0; i < 3000; i++) {
            sb.append("piece ").append(i);
            if (i % 1000 == 0) {
                System.gc();
            }
        }
        System.out.println(sb.toString().hashCode());
        String s = "";
        for (int i = 0; i < 300; i++) {
            s += i;
        }
        System.out.println(s.length() + " " + s.hashCode());
    }
}
