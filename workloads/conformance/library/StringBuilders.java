public class StringBuilders {
    public static void main(String[] args) {
        StringBuilder sb = new StringBuilder();
        sb.append(1).append('c').append("s").append(2.5).append(3f).append(4L).append(true).append((Object) null)
            .append(new char[] {'x', 'y'}).append("hello", 1, 3).append(new char[] {'p', 'q', 'r'}, 1, 2);
        System.out.println(sb + " " + sb.length());
        sb.insert(0, "start").insert(5, 99).insert(7, '-').insert(sb.length(), 1.0);
        System.out.println(sb);
        sb.delete(0, 5).deleteCharAt(0).replace(0, 3, "REPLACED").reverse();
        System.out.println(sb);
        sb.setLength(5);
        System.out.println(sb + "|");
        sb.setLength(7);
        System.out.println(sb.toString().replace('\0', '0'));
        sb.setCharAt(0, 'Z');
        System.out.println(sb.indexOf("Z") + " " + sb.lastIndexOf("q") + " " + sb.charAt(0));
        StringBuilder big = new StringBuilder(1);
        for (int i = 0; i < 2000; i++) {
            big.append((char) ('a' + i % 26));
            if (i % 100 == 0) {
                big.append('\u20ac');
            }
        }
        System.out.println(big.length() + " " + big.toString().hashCode() + " " + (big.capacity() >= big.length()));
        StringBuffer buffer = new StringBuffer("buf");
        buffer.append(Integer.MIN_VALUE).append(Long.MIN_VALUE).append(Float.MIN_VALUE).appendCodePoint(0x1f600);
        System.out.println(buffer.length() + " " + buffer.substring(0, 10));
        for (Runnable r : new Runnable[] {() -> new StringBuilder("abc").deleteCharAt(3), () -> new StringBuilder("abc").insert(5, "x"),
            () -> new StringBuilder("abc").setLength(-1), () -> new StringBuilder("abc").charAt(-1),
            () -> new StringBuilder("abc").substring(2, 1), () -> new StringBuilder(-1)}) {
            try {
                r.run();
            } catch (RuntimeException e) {
                System.out.println(e);
            }
        }
        System.out.println(new StringBuilder("abc").compareTo(new StringBuilder("abd")) + " "
            + new StringBuilder("x").equals(new StringBuilder("x")) + " " + new StringBuilder("ab").chars().sum());
    }
}
