import java.lang.reflect.Field;
import java.lang.reflect.GenericArrayType;
import java.lang.reflect.Method;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.TypeVariable;
import java.lang.reflect.WildcardType;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;

public class Generics {
    static class Base<T extends Number & Comparable<T>, U> {
        List<? super T> lower;
        Map<String, List<? extends U[]>> deep;
        T[] array;
        Map.Entry<T, ?>[][] entries;

        <X extends Exception, Y extends X> Map<Y, T> method(List<X> a, U b, Function<? super T, ? extends U> f) throws X {
            return null;
        }
    }

    static class Sub extends Base<Integer, String> implements Comparable<Sub>, Function<Sub, List<String>> {
        @Override
        public int compareTo(Sub o) {
            return 0;
        }

        @Override
        public List<String> apply(Sub s) {
            return null;
        }
    }

    static void describe(Type t, int depth) {
        String pad = "  ".repeat(depth);
        if (t instanceof ParameterizedType p) {
            System.out.println(pad + "parameterized " + p.getRawType() + " owner " + p.getOwnerType());
            for (Type a : p.getActualTypeArguments()) {
                describe(a, depth + 1);
            }
        } else if (t instanceof WildcardType w) {
            System.out.println(pad + "wildcard " + Arrays.toString(w.getUpperBounds()) + Arrays.toString(w.getLowerBounds()));
        } else if (t instanceof GenericArrayType g) {
            System.out.println(pad + "array of");
            describe(g.getGenericComponentType(), depth + 1);
        } else if (t instanceof TypeVariable<?> v) {
            System.out.println(pad + "variable " + v + " " + Arrays.toString(v.getBounds()) + " of " + v.getGenericDeclaration());
        } else {
            System.out.println(pad + t);
        }
    }

    public static void main(String[] args) throws Exception {
        for (TypeVariable<?> v : Base.class.getTypeParameters()) {
            describe(v, 0);
        }
        describe(Sub.class.getGenericSuperclass(), 0);
        System.out.println(Arrays.toString(Sub.class.getGenericInterfaces()));
        Field[] fields = Base.class.getDeclaredFields();
        Arrays.sort(fields, Comparator.comparing(Field::getName));
        for (Field f : fields) {
            System.out.println(f.toGenericString());
            describe(f.getGenericType(), 1);
        }
        for (Method m : Base.class.getDeclaredMethods()) {
            System.out.println(m.toGenericString() + " " + Arrays.toString(m.getGenericExceptionTypes()));
            for (Type t : m.getGenericParameterTypes()) {
                describe(t, 1);
            }
        }
        Type a = Base.class.getDeclaredField("lower").getGenericType();
        Type b = Base.class.getDeclaredField("lower").getGenericType();
        System.out.println(a.equals(b) + " " + (a.hashCode() == b.hashCode()) + " " + a.getTypeName());
    }
}
