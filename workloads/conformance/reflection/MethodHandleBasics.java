import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.WrongMethodTypeException;
import java.util.List;

// zeal
public class MethodHandleBasics {
    int field = 5;
    static String shared = "s";

    int add(int a, int b) {
        return a + b + field;
    }

    private String secret() {
        return "secret";
    }

    static long mix(byte b, short s, char c, int i, long l, float f, double d, boolean z, String t) {
        return b + s + c + i + l + (long) f + (long) d + (z ? 1 : 0) + t.length();
    }

    MethodHandleBasics() {}

    MethodHandleBasics(int f) {
        field = f;
    }

    static class Sub extends MethodHandleBasics {
        @Override
        int add(int a, int b) {
            return -1;
        }

        static MethodHandle superAdd() throws ReflectiveOperationException {
            return MethodHandles.lookup().findSpecial(MethodHandleBasics.class, "add", MethodType.methodType(int.class, int.class, int.class), Sub.class);
        }
    }

    public static void main(String[] args) throws Throwable {
        MethodHandles.Lookup l = MethodHandles.lookup();
        MethodHandle add = l.findVirtual(MethodHandleBasics.class, "add", MethodType.methodType(int.class, int.class, int.class));
        MethodHandleBasics m = new MethodHandleBasics();
        System.out.println((int) add.invokeExact(m, 1, 2) + " " + (Object) add.invoke(m, (short) 3, (Integer) 4) + " " + (int) add.invoke((MethodHandleBasics) new Sub(), 1, 2));
        System.out.println(add.type() + " " + add.invokeWithArguments(m, 5, 6) + " " + add.invokeWithArguments(List.of(m, 7, 8)));
        System.out.println((int) Sub.superAdd().invokeExact(new Sub(), 10, 20));
        MethodHandle mix = l.findStatic(MethodHandleBasics.class, "mix", MethodType.methodType(long.class, byte.class, short.class, char.class, int.class,
            long.class, float.class, double.class, boolean.class, String.class));
        System.out.println((long) mix.invokeExact((byte) 1, (short) 2, 'c', 4, 5L, 6f, 7d, true, "text"));
        MethodHandle secret = l.findVirtual(MethodHandleBasics.class, "secret", MethodType.methodType(String.class));
        System.out.println((String) secret.invokeExact(m));
        MethodHandle ctor = l.findConstructor(MethodHandleBasics.class, MethodType.methodType(void.class, int.class));
        System.out.println(((MethodHandleBasics) ctor.invokeExact(9)).field);
        MethodHandle getter = l.findGetter(MethodHandleBasics.class, "field", int.class);
        MethodHandle setter = l.findSetter(MethodHandleBasics.class, "field", int.class);
        setter.invokeExact(m, 50);
        System.out.println((int) getter.invokeExact(m));
        l.findStaticSetter(MethodHandleBasics.class, "shared", String.class).invokeExact("changed");
        System.out.println((String) l.findStaticGetter(MethodHandleBasics.class, "shared", String.class).invokeExact());
        System.out.println((int) l.bind("bound", "length", MethodType.methodType(int.class)).invokeExact() + " "
            + (int) add.bindTo(m).invokeExact(1, 1));
        System.out.println((int) l.findVirtual(List.class, "size", MethodType.methodType(int.class)).invoke(List.of(1, 2, 3)));
        try {
            Object o = add.invokeExact(m, 1, 2);
        } catch (WrongMethodTypeException e) {
            System.out.println(e.getMessage());
        }
        try {
            add.invoke(m, "x", 2);
        } catch (WrongMethodTypeException e) {
            System.out.println(e.getMessage());
        } catch (ClassCastException e) {
            System.out.println("cast");
        }
        try {
            l.findVirtual(String.class, "nothing", MethodType.methodType(void.class));
        } catch (NoSuchMethodException e) {
            System.out.println(e.getMessage());
        }
        try {
            MethodHandles.publicLookup().findVirtual(MethodHandleBasics.class, "secret", MethodType.methodType(String.class));
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage().contains("secret"));
        }
        try {
            add.invoke((MethodHandleBasics) null, 1, 2);
        } catch (NullPointerException e) {
            System.out.println("null receiver");
        }
        MethodHandle viaReflection = l.unreflect(MethodHandleBasics.class.getDeclaredMethod("secret"));
        System.out.println((String) viaReflection.invoke(m) + " " + l.revealDirect(viaReflection).getName() + " " + l.lookupModes());
        System.out.println(MethodType.fromMethodDescriptorString("(I[JLjava/lang/String;)V", null) + " "
            + MethodType.methodType(int.class, List.of(long.class, Object.class)).toMethodDescriptorString() + " "
            + MethodType.genericMethodType(2).changeReturnType(void.class).wrap().parameterList());
    }
}
