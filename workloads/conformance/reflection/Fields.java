import java.lang.reflect.Field;
import java.lang.reflect.Modifier;

public class Fields {
    static class Parent {
        public int inherited = 1;
        protected String text = "p";
    }

    static class Target extends Parent {
        private byte b = 1;
        short s = 2;
        char c = 'c';
        int i = 4;
        long l = 5;
        float f = 6;
        double d = 7;
        boolean z = true;
        Object o = "object";
        final int constant = 9;
        final String computed = new String("final");
        static int shared = 10;
        static final Object FIXED = new Object();
        volatile transient int marked;
        int[][] grid = {{1}, {2}};
    }

    public static void main(String[] args) throws Exception {
        Target t = new Target();
        for (String name : "b s c i l f d z o".split(" ")) {
            Field f = Target.class.getDeclaredField(name);
            System.out.print(f.getType() + " " + f.get(t) + "; ");
        }
        System.out.println();
        Field i = Target.class.getDeclaredField("i");
        i.setInt(t, 40);
        i.set(t, (short) 41);
        System.out.println(t.i + " " + i.getInt(t) + " " + i.getLong(t) + " " + i.getDouble(t));
        Field l = Target.class.getDeclaredField("l");
        l.setInt(t, 3);
        l.setByte(t, (byte) -1);
        System.out.println(t.l);
        try {
            i.setLong(t, 1L);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            i.set(t, "x");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            i.getByte(t);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        Field computed = Target.class.getDeclaredField("computed");
        try {
            computed.set(t, "x");
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage());
        }
        computed.setAccessible(true);
        computed.set(t, "changed");
        System.out.println(computed.get(t));
        Field fixed = Target.class.getDeclaredField("FIXED");
        fixed.setAccessible(true);
        try {
            fixed.set(null, "x");
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage());
        }
        Field shared = Target.class.getDeclaredField("shared");
        shared.set(null, 11);
        System.out.println(Target.shared + " " + shared.get("ignored") + " " + Modifier.toString(Target.class.getDeclaredField("marked").getModifiers()));
        System.out.println(Target.class.getField("inherited").get(t) + " " + Target.class.getFields().length + " " + Target.class.getDeclaredFields().length);
        try {
            Target.class.getField("text");
        } catch (NoSuchFieldException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Target.class.getDeclaredField("grid") + " " + i.equals(Target.class.getDeclaredField("i")) + " " + i.getDeclaringClass());
        Field value = Integer.class.getDeclaredField("value");
        try {
            value.setAccessible(true);
        } catch (RuntimeException e) {
            System.out.println(e.getMessage().replaceAll("@[0-9a-f]+", "@HASH"));
        }
        try {
            value.get(5);
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage());
        }
    }
}
