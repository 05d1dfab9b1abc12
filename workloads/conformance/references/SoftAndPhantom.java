import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;

public class SoftAndPhantom {
    static PhantomReference<Object> phantom(ReferenceQueue<Object> queue) {
        return new PhantomReference<>(new Object(), queue);
    }

    public static void main(String[] args) throws Exception {
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        PhantomReference<Object> p = phantom(queue);
        System.out.println(p.get());
        Reference<?> got = null;
        for (int i = 0; i < 200 && got == null; i++) {
            System.gc();
            got = queue.remove(5);
        }
        System.out.println((got == p) + " " + p.refersTo(null));
        SoftReference<byte[]> soft = new SoftReference<>(new byte[1000]);
        System.gc();
        System.out.println(soft.get() != null && soft.get().length == 1000);
        Object held = new Object();
        PhantomReference<Object> live = new PhantomReference<>(held, queue);
        System.gc();
        System.out.println(queue.remove(5) == null);
        System.out.println(live.refersTo(held));
        Reference.reachabilityFence(held);
    }
}
