import java.util.Arrays;
import java.util.EnumMap;
import java.util.EnumSet;

public class Enums {
    enum Op {
        ADD("+") {
            int apply(int a, int b) {
                return a + b;
            }
        },
        MUL("*") {
            int apply(int a, int b) {
                return a * b;
            }
        };

        final String sign;

        Op(String sign) {
            this.sign = sign;
        }

        abstract int apply(int a, int b);
    }

    enum Level implements Comparable<Level> {
        LOW, MID, HIGH;
        static final Level[] CACHE = values();
        static int loads;

        static {
            loads++;
        }
    }

    public static void main(String[] args) {
        for (Op op : Op.values()) {
            System.out.println(op + op.sign + op.apply(6, 7) + " " + op.ordinal() + " "
                + op.getClass() + " " + op.getDeclaringClass());
        }
        System.out.println(Level.valueOf("MID").compareTo(Level.HIGH) + " " + Level.loads);
        try {
            Level.valueOf("NONE");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Level.valueOf(null);
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
        EnumMap<Level, String> map = new EnumMap<>(Level.class);
        map.put(Level.HIGH, "h");
        map.put(Level.LOW, "l");
        System.out.println(map + " " + map.containsKey(Level.MID));
        EnumSet<Level> set = EnumSet.complementOf(EnumSet.of(Level.MID));
        System.out.println(set + " " + EnumSet.range(Level.LOW, Level.MID) + " "
            + EnumSet.allOf(Level.class) + " " + EnumSet.noneOf(Level.class));
        System.out.println(Arrays.toString(Level.CACHE) + " " + (Level.CACHE == Level.values()));
        System.out.println(Level.class.isEnum() + " " + Op.ADD.getClass().isEnum() + " "
            + Arrays.toString(Level.class.getEnumConstants()));
        System.out.println(Enum.valueOf(Op.class, "MUL").name() + " " + Level.LOW.equals(Level.LOW));
        int total = 0;
        for (Level l : Level.values()) {
            switch (l) {
                case LOW: total += 1; break;
                case HIGH: total += 100; break;
                default: total += 10;
            }
        }
        System.out.println(total);
    }
}
