import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.InvocationTargetException;

public class Constructors {
    static class Base {
        final String how;

        private Base() {
            how = "none";
        }

        Base(int x, String... rest) {
            how = x + "/" + rest.length;
        }

        Base(Object o) {
            if (o == null) {
                throw new IllegalArgumentException("null given");
            }
            how = "object";
        }
    }

    abstract static class Abstract {}

    class Inner {
        int v = 3;
    }

    enum E { A }

    public static void main(String[] args) throws Exception {
        Constructor<Base> none = Base.class.getDeclaredConstructor();
        System.out.println(none.newInstance().how + " " + none);
        System.out.println(Base.class.getDeclaredConstructor(int.class, String[].class).newInstance(4, new String[] {"a"}).how);
        try {
            Base.class.getDeclaredConstructor(Object.class).newInstance((Object) null);
        } catch (InvocationTargetException e) {
            System.out.println(e.getCause());
        }
        try {
            Abstract.class.getDeclaredConstructor().newInstance();
        } catch (InstantiationException e) {
            System.out.println("abstract " + e.getMessage());
        }
        System.out.println(Inner.class.getDeclaredConstructor(Constructors.class).newInstance(new Constructors()).v);
        try {
            E.class.getDeclaredConstructors()[0].newInstance("B", 1);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Base.class.getDeclaredConstructors().length + " " + Base.class.getConstructors().length);
        for (int i = 0; i < 30; i++) {
            none.newInstance();
        }
        int[] ints = (int[]) Array.newInstance(int.class, 3);
        Array.setInt(ints, 1, 7);
        Array.set(ints, 2, (short) 8);
        System.out.println(Array.getLength(ints) + " " + Array.get(ints, 1) + " " + Array.getLong(ints, 2));
        Object grid = Array.newInstance(String.class, 2, 3);
        System.out.println(grid.getClass() + " " + Array.getLength(Array.get(grid, 0)));
        try {
            Array.set(ints, 0, "x");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Array.get(ints, 3);
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        try {
            Array.getLength("x");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Array.newInstance(void.class, 1);
        } catch (IllegalArgumentException e) {
            System.out.println("void array");
        }
        try {
            Array.newInstance(int.class, -1);
        } catch (NegativeArraySizeException e) {
            System.out.println(e.getMessage());
        }
        try {
            Base.class.newInstance();
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage());
        }
    }
}
