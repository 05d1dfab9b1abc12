import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;

public class ReachabilityChains {
    static class Ring {
        Ring next;
        byte[] data = new byte[100];
    }

    static WeakReference<Ring> ring(int n) {
        Ring first = new Ring();
        Ring r = first;
        for (int i = 1; i < n; i++) {
            r.next = new Ring();
            r = r.next;
        }
        r.next = first;
        return new WeakReference<>(r);
    }

    static WeakReference<Object> throughWeak() {
        Object o = new Object();
        WeakReference<WeakReference<Object>> outer = new WeakReference<>(new WeakReference<>(o));
        return new WeakReference<>(outer);
    }

    static WeakReference<Object> held(SoftReference<Object>[] soft) {
        Object o = new Object();
        soft[0] = new SoftReference<>(o);
        return new WeakReference<>(o);
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        WeakReference<Ring> ring = ring(1000);
        WeakReference<Object> chain = throughWeak();
        for (int i = 0; i < 300 && (ring.get() != null || chain.get() != null); i++) {
            System.gc();
            Thread.sleep(1);
        }
        System.out.println(ring.get() + " " + chain.get());
        SoftReference<Object>[] soft = new SoftReference[1];
        WeakReference<Object> w = held(soft);
        System.gc();
        System.out.println(w.get() != null && w.get() == soft[0].get());
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        class Tracked extends WeakReference<Object> {
            final String label;

            Tracked(Object o, String label) {
                super(o, queue);
                this.label = label;
            }
        }
        Tracked t = new Tracked(new Object(), "tracked");
        Tracked got = null;
        for (int i = 0; i < 300 && got == null; i++) {
            System.gc();
            got = (Tracked) queue.remove(5);
        }
        System.out.println(got.label + " " + (got == t));
    }
}
