public class SwitchForms {
    enum Color { RED, GREEN, BLUE }

    static int dense(int x) {
        switch (x) {
            case -1: return 100;
            case 0: return 1;
            case 1:
            case 2: x += 10;
            case 3: return x;
            case 5: break;
            default: return -1;
        }
        return 55;
    }

    static String sparse(int x) {
        switch (x) {
            case Integer.MIN_VALUE: return "min";
            case -1000000: return "neg";
            case 7: return "seven";
            case 1 << 20: return "mega";
            case Integer.MAX_VALUE: return "max";
            default: return "other";
        }
    }

    static String strings(String s) {
        switch (s) {
            case "Aa": return "first";
            case "BB": return "second";
            case "": return "empty";
            case "long string with \u00e9": return "unicode";
            default: return "none";
        }
    }

    static int arrow(Color c) {
        return switch (c) {
            case RED -> 1;
            case GREEN -> {
                int y = c.ordinal();
                yield y * 10;
            }
            case BLUE -> throw new IllegalStateException("blue");
        };
    }

    static char chars(char c) {
        return switch (c) {
            case 'a', 'e', 'i', 'o', 'u' -> 'V';
            case '\n' -> 'N';
            default -> 'C';
        };
    }

    public static void main(String[] args) {
        for (int i = -3; i < 8; i++) {
            System.out.print(dense(i) + " ");
        }
        System.out.println();
        for (int i : new int[] {Integer.MIN_VALUE, -1000000, -999999, 7, 1 << 20, Integer.MAX_VALUE}) {
            System.out.print(sparse(i) + " ");
        }
        System.out.println();
        for (String s : new String[] {"Aa", "BB", "C#", "", "long string with \u00e9", "x"}) {
            System.out.print(strings(s) + " ");
        }
        System.out.println();
        System.out.println(arrow(Color.RED) + " " + arrow(Color.GREEN));
        try {
            arrow(Color.BLUE);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        System.out.println("" + chars('a') + chars('b') + chars('\n'));
        try {
            strings(null);
        } catch (NullPointerException e) {
            System.out.println("NPE");
        }
        try {
            arrow(null);
        } catch (NullPointerException e) {
            System.out.println("NPE");
        }
        Byte boxed = 3;
        switch (boxed) {
            case 3 -> System.out.println("three");
            default -> System.out.println("?");
        }
    }
}
