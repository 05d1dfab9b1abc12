import java.util.ArrayList;
import java.util.List;

public class Boxing {
    static String type(Object o) {
        return o.getClass().getSimpleName();
    }

    public static void main(String[] args) {
        Integer a = 127, b = 127, c = 128, d = 128;
        System.out.println((a == b) + " " + (c == d) + " " + c.equals(d));
        Long la = -128L, lb = -128L, lc = -129L, ld = -129L;
        System.out.println((la == lb) + " " + (lc == ld));
        Character ca = (char) 127, cb = (char) 127, cc = (char) 128, cd = (char) 128;
        System.out.println((ca == cb) + " " + (cc == cd));
        System.out.println((Boolean.valueOf(true) == Boolean.TRUE) + " " + (Byte.valueOf((byte) 5) == Byte.valueOf((byte) 5)));
        System.out.println(new ArrayList<>(List.of(1)).get(0).equals(1L));
        Integer i = 5;
        i++;
        i += 2;
        System.out.println(i + " " + type(i));
        Object[] all = {(byte) 1, (short) 2, 'c', 4, 5L, 6f, 7.0, true};
        for (Object o : all) {
            System.out.print(type(o) + "=" + o + " #" + o.hashCode() + " ");
        }
        System.out.println();
        List<Integer> list = new ArrayList<>(List.of(10, 20, 30));
        list.remove(1);
        list.remove(Integer.valueOf(10));
        System.out.println(list);
        Integer none = null;
        try {
            int x = none;
            System.out.println(x);
        } catch (NullPointerException e) {
            System.out.println("unboxing null");
        }
        long sum = 0;
        for (Integer x = 0; x < 1000; x++) {
            sum += x;
        }
        System.out.println(sum);
        System.out.println(type(true ? 1 : 2L) + " " + type(true ? (Integer) 1 : (Double) 2.0));
        System.out.println(Integer.decode("0x7f") + " " + Integer.parseInt("-80", 16) + " "
            + Integer.toString(255, 36) + " " + Integer.toBinaryString(-8) + " "
            + Long.toHexString(-1L) + " " + Integer.parseUnsignedInt("4294967295") + " "
            + Integer.toUnsignedString(-1) + " " + Integer.compareUnsigned(-1, 1));
        System.out.println(Double.parseDouble("1e-3") + " " + Float.parseFloat("0x1p3") + " "
            + Boolean.parseBoolean("TRUE") + " " + Short.parseShort("-32768"));
        for (String bad : new String[] {"", "2147483648", "1.5", "0x", null}) {
            try {
                System.out.println(Integer.parseInt(bad));
            } catch (NumberFormatException e) {
                System.out.println(e.getMessage());
            }
        }
    }
}
