import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;

// Dynamic constants and call sites with bootstrap methods of our own, from a class made by hand.
public class DynamicConstants extends ClassLoader {
    static int constants;
    static int sites;

    public static Object constant(MethodHandles.Lookup lookup, String name, Class<?> type) {
        constants++;
        if (name.equals("fails")) {
            throw new IllegalStateException("bootstrap refuses");
        }
        return type == int.class ? (Object) 42 : name + "/" + type.getSimpleName();
    }

    public static CallSite site(MethodHandles.Lookup lookup, String name, MethodType type) throws Exception {
        sites++;
        MethodHandle target = MethodHandles.lookup().findStatic(DynamicConstants.class, "target", MethodType.methodType(String.class, int.class));
        return new ConstantCallSite(target.asType(type));
    }

    public static String target(int x) {
        return "target " + x;
    }

    // run() executes ldc of a dynamic constant, or invokedynamic after pushing 5.
    static Class<?> make(String name, String descriptor, String bootstrap, String bootstrapDescriptor, int tag, String result, int... code) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(55);
        out.writeShort(18);
        String[] texts = {"Dynamic", "java/lang/Object", "run", result, "Code", "BootstrapMethods", "DynamicConstants", bootstrap, bootstrapDescriptor, name, descriptor};
        for (String s : texts) {
            out.writeByte(1);
            out.writeUTF(s);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2, 7, 0, 7, 12, 0, 8, 0, 9, 10, 0, 14, 0, 15, 12, 0, 10, 0, 11});
        // 12 class, 13 parent, 14 owner, 15 bootstrap name, 16 method, 17 name and type; the rest follows.
        byte[] so = bytes.toByteArray();
        so[9] = 20;
        bytes.reset();
        bytes.writeBytes(so);
        out.write(new byte[] {15, 6, 0, 16, (byte) tag, 0, 0, 0, 17});
        out.writeShort(0x21);
        out.writeShort(12);
        out.writeShort(13);
        out.writeInt(0);
        out.writeShort(1);
        out.writeShort(9);
        out.writeShort(3);
        out.writeShort(4);
        out.writeShort(1);
        out.writeShort(5);
        out.writeInt(12 + code.length);
        out.writeShort(2);
        out.writeShort(0);
        out.writeInt(code.length);
        for (int c : code) {
            out.writeByte(c);
        }
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(6);
        out.writeInt(6);
        out.write(new byte[] {0, 1, 0, 18, 0, 0});
        byte[] b = bytes.toByteArray();
        return new DynamicConstants().defineClass("Dynamic", b, 0, b.length);
    }

    DynamicConstants() {
        super(DynamicConstants.class.getClassLoader());
    }

    static final String CONSTANT = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/Class;)Ljava/lang/Object;";
    static final String SITE = "(Ljava/lang/invoke/MethodHandles$Lookup;Ljava/lang/String;Ljava/lang/invoke/MethodType;)Ljava/lang/invoke/CallSite;";

    public static void main(String[] args) throws Throwable {
        Class<?> text = make("name", "Ljava/lang/String;", "constant", CONSTANT, 17, "()Ljava/lang/String;", 0x12, 19, 0xb0);
        Object first = text.getMethod("run").invoke(null);
        System.out.println(first + " " + (first == text.getMethod("run").invoke(null)) + " " + constants);
        Class<?> number = make("number", "I", "constant", CONSTANT, 17, "()I", 0x12, 19, 0xac);
        System.out.println(number.getMethod("run").invoke(null) + " " + number.getMethod("run").invoke(null) + " " + constants);
        Class<?> failing = make("fails", "Ljava/lang/String;", "constant", CONSTANT, 17, "()Ljava/lang/String;", 0x12, 19, 0xb0);
        for (int i = 0; i < 2; i++) {
            try {
                failing.getMethod("run").invoke(null);
            } catch (java.lang.reflect.InvocationTargetException e) {
                System.out.println(e.getCause().getClass().getSimpleName() + " " + e.getCause().getCause() + " " + constants);
            }
        }
        Class<?> wrong = make("name", "Ljava/lang/Integer;", "constant", CONSTANT, 17, "()Ljava/lang/Integer;", 0x12, 19, 0xb0);
        try {
            wrong.getMethod("run").invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println(e.getCause().getClass().getSimpleName());
        }
        Class<?> missing = make("name", "Ljava/lang/String;", "noSuchBootstrap", CONSTANT, 17, "()Ljava/lang/String;", 0x12, 19, 0xb0);
        try {
            missing.getMethod("run").invoke(null);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println(e.getCause().getClass().getSimpleName());
        }
        Class<?> call = make("anything", "(I)Ljava/lang/String;", "site", SITE, 18, "()Ljava/lang/String;", 0x08, 0xba, 0, 19, 0, 0, 0xb0);
        System.out.println(call.getMethod("run").invoke(null) + " " + call.getMethod("run").invoke(null) + " " + sites);
    }
}
