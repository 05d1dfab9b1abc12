import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.reflect.Field;
import java.util.Map;
import java.util.TreeMap;

/** An object becomes finalizable when the constructor of Object has ended for it, and not before (JLS 12.6.1). */
public class FinalizersRegistered {
    static final Map<String, Integer> FINALIZED = new TreeMap<>();
    static int counter;

    static void finalized(Object object) {
        synchronized (FINALIZED) {
            FINALIZED.merge(object.getClass().getSimpleName(), 1, Integer::sum);
        }
    }

    /** Its constructor ends before that of Object begins. */
    static class Refused {
        Refused(int ignored) {}

        protected void finalize() {
            finalized(this);
        }
    }

    static class RefusedBelow extends Refused {
        RefusedBelow() {
            super(refuse());
        }
    }

    static int refuse() {
        throw new IllegalStateException("refused");
    }

    /** Fails after the constructor of Object. */
    static class Failed {
        Failed() {
            if (counter >= 0) {
                throw new IllegalStateException("failed");
            }
        }

        protected void finalize() {
            finalized(this);
        }
    }

    static class Cloned implements Cloneable {
        protected void finalize() {
            finalized(this);
        }

        public Object clone() throws CloneNotSupportedException {
            return super.clone();
        }
    }

    static class Read implements Serializable {
        protected void finalize() {
            finalized(this);
        }
    }

    static class Raw {
        Raw() {
            throw new AssertionError();
        }

        protected void finalize() {
            finalized(this);
        }
    }

    /** The constructor is too long to be a part of its callers, and has run long before a subclass has a finalizer. */
    static class Base {
        long a, b, c, d, e, f;

        Base(int seed) {
            a = seed * 31L + 7;
            b = a * 31L + 7 ^ a >>> 3;
            c = b * 31L + 7 ^ b >>> 5 + a;
            d = c * 31L + 7 ^ c >>> 7 + b;
            e = d * 31L + 7 ^ d >>> 9 + c;
            f = e * 31L + 7 ^ e >>> 11 + d;
            a = f * 31L + 7 ^ a >>> 3;
            b = a * 31L + 7 ^ b >>> 5;
            c = b * 31L + 7 ^ c >>> 7;
            d = c * 31L + 7 ^ d >>> 9;
        }
    }

    static class Without extends Base {
        Without(int seed) {
            super(seed);
        }
    }

    static class Late extends Base {
        Late(int seed) {
            super(seed);
        }

        protected void finalize() {
            finalized(this);
        }
    }

    static class Hot {
        int value = counter++;

        protected void finalize() {
            finalized(this);
        }
    }

    static class Empty extends Hot {
        protected void finalize() {}
    }

    static long make(int count) {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += new Hot().value + new Empty().value;
        }
        return sum;
    }

    static long makeBases(int count, boolean late) {
        long sum = 0;
        for (int i = 0; i < count; i++) {
            sum += (late ? new Late(i) : new Without(i)).d;
        }
        return sum;
    }

    static Throwable thrown(Runnable task) {
        try {
            task.run();
            return null;
        } catch (Throwable t) {
            return t;
        }
    }

    static void others() throws Exception {
        for (int i = 0; i < 20; i++) {
            thrown(RefusedBelow::new);
            thrown(Failed::new);
        }
        Cloned original = new Cloned();
        for (int i = 0; i < 20; i++) {
            original.clone();
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(new Read());
        }
        for (int i = 0; i < 20; i++) {
            new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
        }
        Field field = Class.forName("sun.misc.Unsafe").getDeclaredField("theUnsafe");
        field.setAccessible(true);
        sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
        for (int i = 0; i < 20; i++) {
            unsafe.allocateInstance(Raw.class);
        }
    }

    static int count(String name) {
        synchronized (FINALIZED) {
            return FINALIZED.getOrDefault(name, 0);
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println(makeBases(30_000, false));
        System.out.println(makeBases(2_000, true));
        System.out.println(make(20_000));
        others();
        for (int i = 0; i < 1000; i++) {
            System.gc();
            System.runFinalization();
            if (count("Late") == 2_000 && count("Hot") == 20_000 && count("Failed") == 20 && count("Cloned") == 21
                    && count("Read") == 21) {
                break;
            }
            Thread.sleep(2);
        }
        System.out.println(FINALIZED);
    }
}
