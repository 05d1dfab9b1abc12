import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.VarHandle;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicIntegerFieldUpdater;
import java.util.concurrent.atomic.AtomicReferenceFieldUpdater;

/** CPU time of an access by handles in static final fields, in nanoseconds: the best of thirty rounds. */
public class Handles {
    private static final int COUNT = 200_000;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final VarHandle NUMBER;
    private static final VarHandle NEXT;
    private static final VarHandle ELEMENTS = MethodHandles.arrayElementVarHandle(Object[].class);
    private static final MethodHandle ADD;
    private static final AtomicIntegerFieldUpdater<Handles> NUMBERS =
        AtomicIntegerFieldUpdater.newUpdater(Handles.class, "number");
    private static final AtomicReferenceFieldUpdater<Handles, Handles> NEXTS =
        AtomicReferenceFieldUpdater.newUpdater(Handles.class, Handles.class, "next");

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            NUMBER = lookup.findVarHandle(Handles.class, "number", int.class);
            NEXT = lookup.findVarHandle(Handles.class, "next", Handles.class);
            MethodType type = MethodType.methodType(int.class, int.class, int.class);
            ADD = lookup.findStatic(Handles.class, "add", type);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    private static long sink;

    private volatile int number;
    private volatile Handles next;

    interface Kernel {
        long run(int count) throws Throwable;
    }

    private static int add(int a, int b) {
        return a + b;
    }

    public static void main(String[] args) throws Throwable {
        Handles object = new Handles();
        Object[] array = {object, object};
        measure("getVolatile of an int", count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (int) NUMBER.getVolatile(object);
            }
            return sum;
        });
        measure("setRelease of an int", count -> {
            for (int i = 0; i < count; i++) {
                NUMBER.setRelease(object, i);
            }
            return 0;
        });
        measure("compareAndSet of an int", count -> {
            object.number = 0;
            long done = 0;
            for (int i = 0; i < count; i++) {
                done += NUMBER.compareAndSet(object, i, i + 1) ? 1 : 0;
            }
            return done;
        });
        measure("getAndAdd of an int", count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (int) NUMBER.getAndAdd(object, 1);
            }
            return sum;
        });
        object.next = object;
        measure("getAcquire of a reference", count -> {
            long found = 0;
            for (int i = 0; i < count; i++) {
                found += (Handles) NEXT.getAcquire(object) != null ? 1 : 0;
            }
            return found;
        });
        measure("compareAndSet of a reference", count -> {
            long done = 0;
            for (int i = 0; i < count; i++) {
                done += NEXT.compareAndSet(object, object, object) ? 1 : 0;
            }
            return done;
        });
        measure("getAcquire of an element", count -> {
            long found = 0;
            for (int i = 0; i < count; i++) {
                found += ELEMENTS.getAcquire(array, i & 1) != null ? 1 : 0;
            }
            return found;
        });
        measure("method handle", count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += (int) ADD.invokeExact(i, 1);
            }
            return sum;
        });
        measure("updater of ints", count -> {
            long sum = 0;
            for (int i = 0; i < count; i++) {
                sum += NUMBERS.incrementAndGet(object);
            }
            return sum;
        });
        measure("updater of references", count -> {
            long done = 0;
            for (int i = 0; i < count; i++) {
                done += NEXTS.compareAndSet(object, object, object) ? 1 : 0;
            }
            return done;
        });
    }

    private static void measure(String name, Kernel kernel) throws Throwable {
        long best = Long.MAX_VALUE;
        for (int round = 0; round < 30; round++) {
            long start = THREADS.getCurrentThreadCpuTime();
            sink += kernel.run(COUNT);
            best = Math.min(best, THREADS.getCurrentThreadCpuTime() - start);
        }
        System.out.printf("%-30s %6.2f%n", name, best / (double) COUNT);
    }
}
