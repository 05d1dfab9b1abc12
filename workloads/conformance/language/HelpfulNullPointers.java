public class HelpfulNullPointers {
    int number;
    String text;
    HelpfulNullPointers next;
    int[] ints;
    Object[] objects;
    static HelpfulNullPointers root;
    static long[][] grid = new long[2][];

    HelpfulNullPointers find(String s, int i) {
        return null;
    }

    static int[] numbers() {
        return null;
    }

    interface Body {
        void run() throws Exception;
    }

    static void check(Body body) {
        try {
            body.run();
            System.out.println("no exception");
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        } catch (Exception e) {
            System.out.println("other " + e);
        }
    }

    public static void main(String[] args) {
        HelpfulNullPointers h = new HelpfulNullPointers();
        check(() -> System.out.println(h.text.length()));
        check(() -> h.next.number = 1);
        check(() -> System.out.println(h.next.next.number));
        check(() -> System.out.println(h.ints[0]));
        check(() -> h.ints[1] = 5);
        check(() -> System.out.println(h.ints.length));
        check(() -> h.objects[2] = "x");
        check(() -> System.out.println(root.number));
        check(() -> System.out.println(h.find("a", 1).text));
        check(() -> System.out.println(numbers()[3]));
        check(() -> grid[1][0] = 4L);
        check(() -> System.out.println(grid[args.length][args.length + 1]));
        check(() -> {
            synchronized (h.text) {
                System.out.println("locked");
            }
        });
        check(() -> {
            RuntimeException e = null;
            throw e;
        });
        check(() -> {
            Integer boxed = null;
            int i = boxed;
        });
        check(() -> {
            Object[] array = new Object[1];
            array[0].toString();
        });
        check(() -> {
            Object o = null;
            o.getClass();
        });
        check(() -> {
            throw new NullPointerException();
        });
        check(() -> {
            throw new NullPointerException("explicit");
        });
        check(() -> java.util.Objects.requireNonNull(null, "required"));
        check(() -> java.util.Objects.requireNonNull(null));
        check(() -> h.find(null, 3).find("x", 4).find("y", 5));
        parameter(null, 1, null);
    }

    static void parameter(String a, long wide, HelpfulNullPointers b) {
        try {
            a.trim();
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
        try {
            b.next = null;
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
    }
}
