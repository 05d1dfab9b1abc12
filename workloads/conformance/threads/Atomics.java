import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicIntegerArray;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicMarkableReference;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;
import java.util.concurrent.atomic.AtomicStampedReference;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

// zeal
public class Atomics {
    volatile int field;
    volatile String name = "a";

    static class Node {
        final int value;
        final Node next;

        Node(int value, Node next) {
            this.value = value;
            this.next = next;
        }
    }

    public static void main(String[] args) throws Exception {
        AtomicInteger i = new AtomicInteger();
        AtomicLong l = new AtomicLong(1L << 40);
        LongAdder adder = new LongAdder();
        AtomicReference<Node> stack = new AtomicReference<>();
        AtomicIntegerArray array = new AtomicIntegerArray(4);
        Atomics owner = new Atomics();
        AtomicIntegerFieldUpdater<Atomics> updater = AtomicIntegerFieldUpdater.newUpdater(Atomics.class, "field");
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int id = t;
            threads[t] = new Thread(() -> {
                for (int k = 0; k < 1000; k++) {
                    i.incrementAndGet();
                    l.addAndGet(2);
                    adder.add(3);
                    array.getAndIncrement(id);
                    updater.incrementAndGet(owner);
                    int value = k;
                    stack.updateAndGet(old -> new Node(value, old));
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        int depth = 0;
        long total = 0;
        for (Node n = stack.get(); n != null; n = n.next) {
            depth++;
            total += n.value;
        }
        System.out.println(i + " " + l + " " + adder + " " + array + " " + owner.field + " " + depth + " " + total);
        System.out.println(i.compareAndSet(4000, 1) + " " + i.compareAndSet(4000, 2) + " " + i.getAndAdd(5) + " "
            + i.updateAndGet(x -> x * 3) + " " + i.getAndAccumulate(4, Math::max) + " " + i.compareAndExchange(18, 9) + " " + i.getAndSet(0));
        AtomicBoolean b = new AtomicBoolean();
        System.out.println(b.getAndSet(true) + " " + b.compareAndSet(true, false) + " " + b.get());
        AtomicReferenceFieldUpdater<Atomics, String> names = AtomicReferenceFieldUpdater.newUpdater(Atomics.class, String.class, "name");
        System.out.println(names.compareAndSet(owner, "a", "b") + " " + names.getAndSet(owner, "c") + " " + owner.name);
        AtomicReferenceArray<String> refs = new AtomicReferenceArray<>(3);
        System.out.println(refs.compareAndSet(1, null, "x") + " " + refs.getAndSet(1, "y") + " " + refs);
        AtomicStampedReference<String> stamped = new AtomicStampedReference<>("s", 1);
        int[] holder = new int[1];
        System.out.println(stamped.compareAndSet("s", "t", 1, 2) + " " + stamped.get(holder) + holder[0]);
        AtomicMarkableReference<String> marked = new AtomicMarkableReference<>("m", false);
        System.out.println(marked.attemptMark("m", true) + " " + marked.isMarked());
        LongAccumulator max = new LongAccumulator(Long::max, Long.MIN_VALUE);
        max.accumulate(5);
        max.accumulate(3);
        System.out.println(max.get() + " " + l.weakCompareAndSetPlain(0, 1) + " " + l.incrementAndGet());
        try {
            AtomicIntegerFieldUpdater.newUpdater(Atomics.class, "name");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
    }
}
