import java.lang.ref.ReferenceQueue;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

// zeal
public class WeakReferences {
    static boolean cleared(WeakReference<?> w) throws Exception {
        for (int i = 0; i < 200 && w.get() != null; i++) {
            System.gc();
            Thread.sleep(1);
        }
        return w.get() == null;
    }

    static WeakReference<Object> fresh(ReferenceQueue<Object> queue) {
        return new WeakReference<>(new Object(), queue);
    }

    public static void main(String[] args) throws Exception {
        Object strong = new Object();
        ReferenceQueue<Object> queue = new ReferenceQueue<>();
        WeakReference<Object> kept = new WeakReference<>(strong, queue);
        WeakReference<Object> lost = fresh(queue);
        System.out.println(cleared(lost) + " " + (kept.get() == strong));
        System.out.println((queue.remove(10_000) == lost) + " " + (queue.poll() == null) + " " + lost.enqueue());
        List<WeakReference<Object>> many = new ArrayList<>();
        List<Object> live = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            Object o = new int[i % 10];
            if (i % 3 == 0) {
                live.add(o);
            }
            many.add(new WeakReference<>(o, queue));
        }
        System.out.println(cleared(many.get(1)) + " " + cleared(many.get(299)));
        int cleared = 0;
        for (int i = 0; i < 300; i++) {
            if (many.get(i).get() == null) {
                cleared++;
            } else if (many.get(i).get() != live.get(i / 3)) {
                System.out.println("wrong referent");
            }
        }
        System.out.println(cleared);
        int queued = 0;
        while (queue.remove(queued < 200 ? 10_000 : 5) != null) {
            queued++;
        }
        System.out.println(queued);
        kept.clear();
        System.out.println(kept.get() + " " + kept.refersTo(null) + " " + many.get(0).refersTo(live.get(0)));
        WeakReference<Object> manual = new WeakReference<>(strong, queue);
        System.out.println(manual.enqueue() + " " + (queue.poll() == manual) + " " + manual.enqueue());
        System.out.println(strong != null);
    }
}
