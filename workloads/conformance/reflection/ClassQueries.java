import java.io.Serializable;
import java.lang.reflect.Modifier;
import java.util.AbstractList;
import java.util.Arrays;
import java.util.Map;
import java.util.RandomAccess;

public class ClassQueries {
    static class Nested<T> extends AbstractList<T> implements RandomAccess, Serializable {
        @Override
        public T get(int i) {
            return null;
        }

        @Override
        public int size() {
            return 0;
        }
    }

    @interface Marker {}

    public static void main(String[] args) throws Exception {
        Object anonymous = new Object() {};
        class Local {}
        Class<?>[] all = {int.class, void.class, int[].class, String[][].class, String.class, Map.Entry.class, Nested.class, Marker.class,
            anonymous.getClass(), Local.class, Thread.State.class, Runnable.class};
        for (Class<?> c : all) {
            System.out.println(c.getName() + "|" + c.getSimpleName() + "|" + c.getTypeName() + "|" + c.getCanonicalName() + "|" + c.getPackageName() + "|"
                + Modifier.toString(c.getModifiers()) + "|" + c.getSuperclass() + "|" + c.isArray() + c.isPrimitive() + c.isInterface() + c.isEnum()
                + c.isAnnotation() + c.isAnonymousClass() + c.isLocalClass() + c.isMemberClass() + c.isSynthetic() + "|" + c.toGenericString()
                + "|" + c.descriptorString() + "|" + c.getComponentType() + "|" + Arrays.toString(c.getInterfaces()));
        }
        System.out.println(Local.class.getEnclosingMethod() + " " + Local.class.getEnclosingClass() + " " + Nested.class.getDeclaringClass());
        System.out.println(Arrays.stream(ClassQueries.class.getDeclaredClasses()).map(Class::getSimpleName).sorted().toList());
        System.out.println(Class.forName("[Ljava.lang.String;") + " " + Class.forName("[[I").getComponentType() + " " + Class.forName("ClassQueries$Nested"));
        for (String bad : new String[] {"java/lang/String", "int", "No.Such", "[Lint", "", "[[["}) {
            try {
                System.out.println(Class.forName(bad));
            } catch (ClassNotFoundException e) {
                System.out.println("not found: " + e.getMessage());
            }
        }
        System.out.println(Number.class.isAssignableFrom(Integer.class) + " " + Integer.class.asSubclass(Number.class) + " "
            + int.class.arrayType() + " " + Object.class.getSuperclass() + " " + String.class.getClassLoader() + " " + Class.class.hashCode() % 1);
        try {
            String.class.asSubclass(Number.class);
        } catch (ClassCastException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(String.class.getModule() + " " + ClassQueries.class.getModule().isNamed() + " " + ClassQueries.class.getPackage().getName().isEmpty()
            + " " + String.class.getPackage().getName() + " " + ClassQueries.class.getClassLoader().getClass().getSimpleName());
        System.out.println(ClassQueries.class.getResource("ClassQueries.class") != null);
        System.out.println(String.class.getResourceAsStream("/java/lang/Object.class") != null);
        System.out.println(ClassQueries.class.getProtectionDomain().getCodeSource() != null);
        System.out.println(Nested.class.getNestHost() + " " + Nested.class.isNestmateOf(ClassQueries.class) + " " + ClassQueries.class.getNestMembers().length);
        System.out.println(boolean.class == Boolean.TYPE);
    }
}
