import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;

public class VerifyErrors extends ClassLoader {
    // A class "T" with one static method "run" of the given descriptor and code, without frames.
    static byte[] make(String descriptor, int stack, int locals, int... code) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(10);
        utf(out, "T");
        out.writeByte(7);
        out.writeShort(1);
        utf(out, "java/lang/Object");
        out.writeByte(7);
        out.writeShort(3);
        utf(out, "run");
        utf(out, descriptor);
        utf(out, "Code");
        out.writeByte(8);
        out.writeShort(1);
        out.writeByte(3);
        out.writeInt(70000);
        out.writeShort(0x21);
        out.writeShort(2);
        out.writeShort(4);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(1);
        out.writeShort(9);
        out.writeShort(5);
        out.writeShort(6);
        out.writeShort(1);
        out.writeShort(7);
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
        return bytes.toByteArray();
    }

    static void utf(DataOutputStream out, String s) throws IOException {
        out.writeByte(1);
        out.writeUTF(s);
    }

    static void attempt(String label, String descriptor, int stack, int locals, int... code) throws Exception {
        byte[] bytes = make(descriptor, stack, locals, code);
        try {
            Class<?> c = new VerifyErrors().defineClass("T", bytes, 0, bytes.length);
            Object result = c.getMethods()[0].invoke(null);
            System.out.println(label + " returned " + result);
        } catch (LinkageError e) {
            System.out.println(label + " " + e.getClass().getSimpleName() + ": " + e.getMessage().split("\n")[0]);
        }
    }

    public static void main(String[] args) throws Exception {
        attempt("fine", "()I", 1, 0, 0x04, 0xac);
        attempt("ldc", "()I", 1, 0, 0x12, 9, 0xac);
        attempt("string", "()Ljava/lang/String;", 1, 0, 0x12, 8, 0xb0);
        attempt("underflow", "()I", 2, 0, 0x04, 0x60, 0xac);
        attempt("overflow", "()I", 1, 0, 0x04, 0x04, 0x60, 0xac);
        attempt("wrong type", "()I", 2, 0, 0x01, 0x04, 0x60, 0xac);
        attempt("wrong return", "()I", 1, 0, 0x01, 0xb0);
        attempt("object as int", "()I", 1, 0, 0x01, 0xac);
        attempt("unset local", "()I", 1, 1, 0x1a, 0xac);
        attempt("local out of range", "()I", 1, 1, 0x15, 5, 0xac);
        attempt("falls off", "()V", 1, 0, 0x00);
        attempt("half a long", "()I", 2, 2, 0x09, 0x3f, 0x1b, 0xac);
        attempt("split long", "()V", 3, 0, 0x09, 0x57, 0xb1);
        attempt("jump outside", "()V", 0, 0, 0xa7, 0x7f, 0x00, 0xb1);
        attempt("jump into operand", "()V", 1, 0, 0x10, 0x05, 0x57, 0xa7, 0xff, 0xfe, 0xb1);
        attempt("jump without frame", "()V", 1, 0, 0x03, 0x99, 0x00, 0x04, 0x00, 0xb1);
        attempt("unknown opcode", "()V", 0, 0, 0xfe, 0xb1);
        attempt("bad constant", "()I", 1, 0, 0x12, 1, 0xac);
        attempt("ldc index", "()I", 1, 0, 0x12, 200, 0xac);
        attempt("cut instruction", "()V", 1, 0, 0x10);
        attempt("bad descriptor", "(Q)V", 0, 1, 0xb1);
        attempt("args exceed locals", "(J)V", 0, 1, 0xb1);
        attempt("array of int", "()V", 2, 0, 0x04, 0xbe, 0x57, 0xb1);
        attempt("throw int", "()V", 1, 0, 0x04, 0xbf);
        attempt("monitor on int", "()V", 1, 0, 0x04, 0xc2, 0xb1);
        attempt("iinc unset", "()V", 1, 1, 0x84, 0, 1, 0xb1);
        attempt("empty code", "()V", 0, 0);
    }
}
