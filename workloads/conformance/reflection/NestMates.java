import java.lang.invoke.MethodHandles;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.lang.reflect.RecordComponent;
import java.util.Arrays;
import java.util.Comparator;

public class NestMates {
    private int mine = 1;

    private static String hidden() {
        return "hidden";
    }

    class A {
        private int x = mine + 1;

        private int read(B b) {
            return b.y + mine;
        }
    }

    class B {
        private int y = 10;

        class C {
            private int z = y + mine + new A().x;
        }
    }

    interface Itf {
        private String priv() {
            return "private in interface";
        }

        default String call(Itf other) {
            return other.priv();
        }
    }

    record Rec<T>(@Deprecated int number, java.util.List<T> list, String... rest) {}

    public static void main(String[] args) throws Exception {
        NestMates n = new NestMates();
        System.out.println(n.new A().read(n.new B()) + " " + n.new B().new C().z + " " + new Itf() {}.call(new Itf() {}));
        Field f = B.class.getDeclaredField("y");
        System.out.println(f.getInt(n.new B()));
        Method m = NestMates.class.getDeclaredMethod("hidden");
        System.out.println(m.invoke(null));
        System.out.println(B.C.class.getNestHost() + " " + A.class.isNestmateOf(B.C.class) + " " + A.class.isNestmateOf(String.class) + " " + int.class.getNestHost()
            + " " + int[].class.getNestHost());
        Class<?>[] members = NestMates.class.getNestMembers();
        Arrays.sort(members, Comparator.comparing(Class::getName));
        System.out.println(Arrays.toString(members));
        MethodHandles.Lookup inner = MethodHandles.privateLookupIn(A.class, MethodHandles.lookup());
        System.out.println((int) inner.findVarHandle(A.class, "x", int.class).get(n.new A()));
        for (RecordComponent c : Rec.class.getRecordComponents()) {
            System.out.println(c.getName() + " " + c.getType() + " " + c.getGenericType() + " " + c.getAccessor() + " " + Arrays.toString(c.getAnnotations()) + " " + c.getGenericSignature());
        }
        System.out.println(Rec.class.getRecordComponents()[1].getAccessor().invoke(new Rec<>(1, java.util.List.of("q"))));
        System.out.println(String.class.getRecordComponents() + " " + Rec.class.getDeclaredConstructors()[0].toGenericString());
    }
}
