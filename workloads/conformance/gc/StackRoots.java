// zeal
public class StackRoots {
    static Object garbage() {
        Object[] o = null;
        for (int i = 0; i < 200; i++) {
            o = new Object[] {o, new byte[100]};
        }
        return o;
    }

    static int deep(int n, Object a, long wide, String b) {
        Object local = new int[] {n};
        double d = n * 0.5;
        if (n % 20 == 0) {
            garbage();
        }
        if (n == 0) {
            System.gc();
            return 0;
        }
        int below = deep(n - 1, local, wide + 1, b + "x");
        int[] back = (int[]) local;
        boolean fine = back[0] == n && b.length() == 100 - n && d == n * 0.5 && a != null;
        return below + (fine ? 1 : 0);
    }

    static int mixed(boolean takeObject) {
        int result;
        if (takeObject) {
            Object slot = "object in a slot";
            System.gc();
            result = slot.toString().length();
        } else {
            long slot = 0x7fff_ffff_ffffL;
            System.gc();
            result = (int) (slot >>> 40);
        }
        return result;
    }

    public static void main(String[] args) {
        System.out.println(deep(100, "a", 1L << 40, ""));
        System.out.println(mixed(true) + " " + mixed(false));
        Object kept = new StringBuilder("kept").append(1);
        try {
            Object inTry = new int[] {5};
            garbage();
            throw new RuntimeException(new String("thrown ") + ((int[]) inTry)[0]);
        } catch (RuntimeException e) {
            System.gc();
            System.out.println(e.getMessage() + kept);
        }
        String s = join("a" + garbage().hashCode() % 1, garbage() == null ? "" : "b", new String("c"));
        System.out.println(s);
        Object[] args2 = {new String("x"), garbage() != null ? new String("y") : null, System.identityHashCode(garbage()) != 0};
        System.out.println(args2[0] + "" + args2[1] + args2[2]);
    }

    static String join(String a, String b, String c) {
        garbage();
        return a + b + c;
    }
}
