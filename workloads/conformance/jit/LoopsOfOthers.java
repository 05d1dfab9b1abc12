import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A loop as other compilers than javac lay it out: its body comes first and falls through to the test. A stop of all
 * threads must include the one that runs it.
 */
public class LoopsOfOthers extends ClassLoader {
    /** static long run(AtomicBoolean stop) { long n = 0; while (!stop.get()) n++; return n; } */
    static final int[] RUN = {
        0x09, 0x40, // n = 0
        0xa7, 0, 7, // goto 9
        0x1f, 0x0a, 0x61, 0x40, // 5: n++
        0x2a, 0xb6, 0, 13, // 9: stop.get()
        0x99, 0xff, 0xf8, // ifeq 5
        0x1f, 0xad, // return n
    };

    static Method made() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        out.writeInt(0xcafebabe);
        out.writeInt(49);
        out.writeShort(14);
        String atomic = "java/util/concurrent/atomic/AtomicBoolean";
        String[] texts = {"Made", "java/lang/Object", "run", "(L" + atomic + ";)J", "Code", atomic, "get", "()Z"};
        for (String text : texts) {
            out.writeByte(1);
            out.writeUTF(text);
        }
        out.write(new byte[] {7, 0, 1, 7, 0, 2, 7, 0, 6}); // 9, 10, 11: the classes
        out.write(new byte[] {12, 0, 7, 0, 8, 10, 0, 11, 0, 12}); // 12, 13: AtomicBoolean.get
        out.writeShort(0x21);
        out.writeShort(9);
        out.writeShort(10);
        out.writeInt(0);
        out.writeShort(1);
        for (int word : new int[] {9, 3, 4, 1, 5}) {
            out.writeShort(word);
        }
        out.writeInt(12 + RUN.length);
        out.writeShort(4);
        out.writeShort(3);
        out.writeInt(RUN.length);
        for (int part : RUN) {
            out.writeByte(part);
        }
        out.writeInt(0);
        out.writeShort(0);
        byte[] all = bytes.toByteArray();
        return new LoopsOfOthers().defineClass("Made", all, 0, all.length).getMethods()[0];
    }

    public static void main(String[] args) throws Exception {
        Method run = made();
        for (int round = 0; round < 3; round++) {
            AtomicBoolean stop = new AtomicBoolean();
            Thread thread = new Thread(() -> {
                try {
                    System.out.println((long) run.invoke(null, stop) > 0);
                } catch (ReflectiveOperationException e) {
                    System.out.println(e);
                }
            });
            thread.start();
            Thread.sleep(300);
            System.gc();
            stop.set(true);
            thread.join();
        }
    }
}
