import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;

// Runs instructions that javac never or rarely emits, from a class made by hand.
public class Bytecodes extends ClassLoader {
    static Object run(String descriptor, int stack, int locals, int... code) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(49);
        out.writeShort(8);
        for (String s : new String[] {"Made", "java/lang/Object", "run", descriptor, "Code"}) {
            out.writeByte(1);
            out.writeUTF(s);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2});
        out.writeShort(0x21);
        out.writeShort(6);
        out.writeShort(7);
        out.writeInt(0);
        out.writeShort(1);
        out.writeShort(9);
        out.writeShort(3);
        out.writeShort(4);
        out.writeShort(1);
        out.writeShort(5);
        out.writeInt(12 + code.length);
        out.writeShort(stack);
        out.writeShort(locals);
        out.writeInt(code.length);
        for (int c : code) {
            out.writeByte(c);
        }
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(0);
        byte[] b = bytes.toByteArray();
        return new Bytecodes().defineClass("Made", b, 0, b.length).getMethods()[0].invoke(null);
    }

    public static void main(String[] args) throws Exception {
        System.out.println("nop, swap " + run("()I", 2, 0, 0x00, 0x05, 0x08, 0x5f, 0x64, 0xac));
        System.out.println("dup_x1 " + run("()I", 3, 0, 0x04, 0x06, 0x5a, 0x60, 0x68, 0xac));
        System.out.println("dup_x2 " + run("()I", 4, 0, 0x04, 0x05, 0x06, 0x5b, 0x60, 0x68, 0x60, 0xac));
        System.out.println("dup_x2 under long " + run("()I", 4, 0, 0x0a, 0x06, 0x5b, 0x57, 0x58, 0xac));
        System.out.println("dup2 " + run("()I", 4, 0, 0x05, 0x07, 0x5c, 0x60, 0x68, 0x60, 0xac));
        System.out.println("dup2 long " + run("()J", 4, 0, 0x0a, 0x5c, 0x61, 0xad));
        System.out.println("dup2_x1 " + run("()I", 5, 0, 0x05, 0x06, 0x07, 0x5d, 0x60, 0x68, 0x60, 0x68, 0xac));
        System.out.println("dup2_x1 long " + run("()J", 5, 0, 0x06, 0x0a, 0x5d, 0x58, 0x57, 0xad));
        System.out.println("dup2_x2 " + run("()I", 6, 0, 0x04, 0x05, 0x06, 0x07, 0x5e, 0x60, 0x68, 0x60, 0x68, 0x60, 0xac));
        System.out.println("dup2_x2 long long " + run("()J", 6, 0, 0x0a, 0x09, 0x5e, 0x58, 0x61, 0xad));
        System.out.println("pop2 " + run("()I", 3, 0, 0x08, 0x04, 0x05, 0x58, 0xac));
        System.out.println("jsr, ret " + run("()I", 2, 2, 0x03, 0x3b, 0xa8, 0x00, 0x08, 0xa8, 0x00, 0x05, 0x1a, 0xac, 0x4c, 0x84, 0x00, 0x05, 0xa9, 0x01));
        System.out.println("jsr_w " + run("()I", 2, 2, 0x03, 0x3b, 0xc9, 0, 0, 0, 0x07, 0x1a, 0xac, 0x4c, 0x84, 0x00, 0x06, 0xa9, 0x01));
        System.out.println("goto_w " + run("()I", 1, 0, 0xc8, 0, 0, 0, 0x07, 0x03, 0xac, 0x08, 0xac));
        System.out.println("wide " + run("()I", 1, 301, 0x04, 0xc4, 0x36, 0x01, 0x2c, 0xc4, 0x84, 0x01, 0x2c, 0x03, 0xe8, 0xc4, 0x15, 0x01, 0x2c, 0xac));
        System.out.println("wide ret " + run("()I", 1, 301, 0xa8, 0x00, 0x05, 0x07, 0xac, 0xc4, 0x3a, 0x01, 0x2c, 0xc4, 0xa9, 0x01, 0x2c));
        System.out.println("lookupswitch, negative " + run("()I", 1, 0, 0x02, 0xab, 0, 0, 0, 0, 0, 27, 0, 0, 0, 2, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 29, 0, 0, 0, 1, 0, 0, 0, 31, 0x03, 0xac, 0x08, 0xac, 0x06, 0xac));
        System.out.println("fcmpl, fcmpg NaN " + run("()I", 4, 0, 0x0b, 0x0b, 0x6e, 0x0c, 0x95, 0x0b, 0x0b, 0x6e, 0x0c, 0x96, 0x05, 0x68, 0x60, 0xac));
        System.out.println("dcmpl, dcmpg NaN " + run("()I", 6, 0, 0x0e, 0x0e, 0x6f, 0x0f, 0x97, 0x0e, 0x0e, 0x6f, 0x0f, 0x98, 0x05, 0x68, 0x60, 0xac));
        System.out.println("i2b of 300 " + run("()I", 1, 0, 0x11, 0x01, 0x2c, 0x91, 0xac) + ", i2s " + run("()I", 2, 0, 0x11, 0x7f, 0xff, 0x05, 0x60, 0x93, 0xac) + ", i2c " + run("()I", 1, 0, 0x02, 0x92, 0xac));
        System.out.println("boolean return is one bit " + run("()Z", 1, 0, 0x06, 0xac) + " " + run("()Z", 1, 0, 0x05, 0xac) + ", byte return " + run("()B", 1, 0, 0x11, 0x01, 0xff, 0xac));
        System.out.println("areturn null " + run("()Ljava/lang/Object;", 1, 0, 0x01, 0xb0));
        System.out.println("multianewarray, arraylength " + run("()I", 2, 0, 0x10, 0x09, 0xbc, 10, 0xbe, 0xac));
        System.out.println("backward loop " + run("()I", 2, 1, 0x03, 0x3b, 0x84, 0x00, 0x01, 0x1a, 0x10, 0x64, 0xa1, 0xff, 0xfa, 0x1a, 0xac));
        try {
            run("()V", 1, 0, 0x01, 0xc3, 0xb1);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println("monitorexit of null " + e.getCause().getClass().getSimpleName());
        }
        try {
            run("()V", 1, 0, 0x04, 0xbc, 0x0a, 0xc3, 0xb1);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println("monitorexit without enter " + e.getCause().getClass().getSimpleName());
        }
        try {
            run("()V", 1, 0, 0x04, 0xbc, 0x0a, 0xc2, 0xb1);
        } catch (java.lang.reflect.InvocationTargetException e) {
            System.out.println("monitorenter without exit " + e.getCause().getClass().getSimpleName());
        }
    }
}
