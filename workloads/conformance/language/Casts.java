public class Casts {
    public static void main(String[] args) {
        int[] ints = {0, 127, 128, 255, 256, 32767, 32768, 65535, 65536, -129, -32769, 1 << 31};
        for (int i : ints) {
            System.out.println(i + " " + (byte) i + " " + (short) i + " " + (int) (char) i + " "
                + (long) i + " " + (float) i + " " + (double) i);
        }
        double[] doubles = {1.9, -1.9, 2147483647.5, -2147483649.0, 9.3e18, -9.3e18, 1e-5, 127.99};
        for (double d : doubles) {
            System.out.println(d + " " + (byte) d + " " + (short) d + " " + (int) (char) d + " "
                + (int) d + " " + (long) d + " " + (float) d);
        }
        Object o = "text";
        String s = (String) o;
        System.out.println(s.length());
        Object nothing = null;
        System.out.println((Integer) nothing);
        check(() -> System.out.println((Integer) o));
        Object array = new int[2][3];
        System.out.println(((int[][]) array)[1].length);
        check(() -> System.out.println((long[]) array));
        check(() -> System.out.println((Object[][]) array));
        System.out.println(((Object[]) array).length);
        System.out.println(array instanceof Cloneable);
        System.out.println(array instanceof java.io.Serializable);
        System.out.println(nothing instanceof Object);
        Comparable<String> c = (Comparable<String> & java.io.Serializable) s;
        System.out.println(c.compareTo("tex"));
        Runnable r = () -> System.out.println("run");
        r.run();
        check(() -> ((Comparable<?>) (Object) r).hashCode());
        long big = 0x1_0000_0041L;
        System.out.println((char) big);
        char ch = 'a';
        ch += 1;
        ch++;
        System.out.println(ch + " " + (ch + 1) + " " + (char) (ch + 1));
    }

    static void check(Runnable body) {
        try {
            body.run();
        } catch (ClassCastException e) {
            String message = e.getMessage();
            System.out.println(message.replaceAll("Casts\\$\\$Lambda[^ ]*", "LAMBDA"));
        }
    }
}
