import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public class Unicode {
    public static void main(String[] args) {
        String s = "a\u00e9\u20ac\ud83d\ude00z";
        System.out.println(s.length() + " " + s.codePointCount(0, s.length()) + " " + s.codePointAt(3)
            + " " + Integer.toHexString(s.codePointBefore(5)) + " " + s.offsetByCodePoints(0, 4));
        System.out.println(Arrays.toString(s.getBytes(StandardCharsets.UTF_8)));
        System.out.println(Arrays.toString(s.getBytes(StandardCharsets.UTF_16LE)));
        System.out.println(Arrays.toString(s.getBytes(StandardCharsets.ISO_8859_1)));
        System.out.println(new String(s.getBytes(StandardCharsets.UTF_8), StandardCharsets.UTF_8).equals(s));
        System.out.println(s.hashCode() + " " + s.toUpperCase().hashCode());
        System.out.println(new StringBuilder(s).reverse().codePointAt(1) == 0x1f600);
        System.out.println(Character.isLetter('\u00e9') + " " + Character.isDigit('\u0663') + " "
            + Character.getNumericValue('\u0663') + " " + Character.isSurrogate(s.charAt(3)) + " "
            + Character.charCount(0x1f600) + " " + Character.getName('a') + " "
            + Character.isJavaIdentifierStart('$') + " " + Character.getType('A') + " "
            + Character.isWhitespace('\u00a0') + " " + Character.isSpaceChar('\u00a0'));
        System.out.println("stra\u00dfe".toUpperCase() + " " + "\u0130".toLowerCase().length());
        System.out.println("\u00e4\u00c4".equalsIgnoreCase("\u00c4\u00e4"));
        int \u0061bc = 3;
        System.out.println(abc);
        System.out.println(Arrays.toString("\ud800x".getBytes(StandardCharsets.UTF_8)));
        System.out.println(new String(new byte[] {(byte) 0xff, 'a', (byte) 0xc3}, StandardCharsets.UTF_8)
            .codePoints().boxed().toList());
        System.out.println(new String(new int[] {0x1f600, 65}, 0, 2).length());
        char[] pair = Character.toChars(0x10ffff);
        System.out.println(Integer.toHexString(pair[0]) + Integer.toHexString(pair[1]));
        StringBuilder sb = new StringBuilder("latin");
        sb.append('\u4e2d').deleteCharAt(5).append("1");
        System.out.println(sb + " " + sb.toString().equals("latin1"));
        System.out.println("\u4e2d\u6587".indexOf('\u6587') + " " + "abc".indexOf('\u6587') + " "
            + "ab\u4e2dcd".substring(3) + " " + "ab\u4e2d".compareTo("abc"));
        byte[] utf = new byte[300];
        for (int i = 0; i < 300; i++) {
            utf[i] = (byte) ('A' + i % 26);
        }
        System.out.println(new String(utf, StandardCharsets.US_ASCII).hashCode());
    }
}
