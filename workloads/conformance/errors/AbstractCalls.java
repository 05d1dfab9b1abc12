import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;

public class AbstractCalls extends ClassLoader {
    public abstract static class Base {
        public abstract String answer();

        public final String last() {
            return "last";
        }
    }

    public interface Face {
        String speak();
    }

    public interface A {
        default String twice() {
            return "A";
        }
    }

    public interface B {
        default String twice() {
            return "B";
        }
    }

    // A class without any method but its constructor.
    static byte[] empty(String name, String parent, boolean isInterface, String... faces) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(52);
        out.writeShort(10 + faces.length * 2);
        String[] texts = {name, parent, "<init>", "()V", "Code"};
        for (String t : texts) {
            out.writeByte(1);
            out.writeUTF(t);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2, 12, 0, 3, 0, 4, 10, 0, 7, 0, 8});
        for (int i = 0; i < faces.length; i++) {
            out.writeByte(1);
            out.writeUTF(faces[i]);
            out.writeByte(7);
            out.writeShort(10 + 2 * i);
        }
        out.writeShort(isInterface ? 0x601 : 0x21);
        out.writeShort(6);
        out.writeShort(7);
        out.writeShort(faces.length);
        for (int i = 0; i < faces.length; i++) {
            out.writeShort(11 + 2 * i);
        }
        out.writeShort(0);
        out.writeShort(isInterface ? 0 : 1);
        if (!isInterface) {
            out.write(new byte[] {0, 1, 0, 3, 0, 4, 0, 1, 0, 5, 0, 0, 0, 17, 0, 1, 0, 1, 0, 0, 0, 5, 0x2a, (byte) 0xb7, 0, 9, (byte) 0xb1, 0, 0, 0, 0});
        }
        out.writeShort(0);
        return bytes.toByteArray();
    }

    AbstractCalls() {
        super(AbstractCalls.class.getClassLoader());
    }

    static Object make(String name, String parent, String... faces) throws Exception {
        byte[] b = empty(name, parent, false, faces);
        return new AbstractCalls().defineClass(name, b, 0, b.length).getDeclaredConstructor().newInstance();
    }

    interface Body {
        Object run() throws Exception;
    }

    static void attempt(Body body) throws Exception {
        try {
            System.out.println(body.run());
        } catch (LinkageError e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage().replaceAll("@[0-9a-f]+", "@HASH"));
        }
    }

    public static void main(String[] args) throws Exception {
        attempt(() -> ((Base) make("Lazy", "AbstractCalls$Base")).answer());
        attempt(() -> ((Base) make("Lazy2", "AbstractCalls$Base")).last());
        attempt(() -> ((Face) make("Mute", "java/lang/Object", "AbstractCalls$Face")).speak());
        attempt(() -> ((A) make("Both", "java/lang/Object", "AbstractCalls$A", "AbstractCalls$B")).twice());
        attempt(() -> make("FinalChild", "java/lang/String"));
        attempt(() -> make("FaceChild", "AbstractCalls$Face"));
        attempt(() -> make("ClassFace", "java/lang/Object", "AbstractCalls$Base"));
        attempt(() -> make("Self", "Self"));
        attempt(() -> make("Orphan", "no/such/Parent"));
        attempt(() -> make("Fine", "java/lang/Object", "java/lang/Runnable").getClass().getInterfaces()[0]);
        attempt(() -> {
            ((Runnable) make("NoRun", "java/lang/Object", "java/lang/Runnable")).run();
            return "ran";
        });
        attempt(() -> make("RecordChild", "java/lang/Record").getClass().isRecord());
        attempt(() -> {
            byte[] b = empty("Itf", "java/lang/Object", true, "java/lang/Runnable");
            return new AbstractCalls().defineClass("Itf", b, 0, b.length).isInterface();
        });
        attempt(() -> {
            byte[] b = empty("Twice", "java/lang/Object", false, "java/lang/Runnable", "java/lang/Runnable");
            return new AbstractCalls().defineClass("Twice", b, 0, b.length);
        });
    }
}
