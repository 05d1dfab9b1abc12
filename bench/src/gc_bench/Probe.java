import java.io.DataOutputStream;
import java.io.FileOutputStream;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/**
 * Starts a thread that notes when it made no progress, then a program. The thread wants to wake up every millisecond,
 * allocates a little, reads what it wrote a moment ago, and notes how much later than wanted it was done: the cause of
 * a delay, be it the collector, page faults or the system, stopped the program's threads too. The same for every VM.
 *
 * Usage: Probe MAIN-CLASS ARGUMENT..., with the file for the notes in the property `farheap.probe`.
 */
public final class Probe extends Thread {
    private static final long INTERVAL_NS = 1_000_000;
    private static final long NOTED_NS = 250_000;
    private static final int NOTES = 100_000;
    private static final int RING = 256;

    private final long startMillis = System.currentTimeMillis();
    private final long start = System.nanoTime();
    private final Object[] ring = new Object[RING];
    private final int[] at = new int[NOTES];
    private final int[] late = new int[NOTES];
    private int notes;
    private long leftOut;
    private long wakeUps;

    private Probe() {
        super("farheap-probe");
        setDaemon(true);
        setPriority(MAX_PRIORITY);
    }

    @Override
    public void run() {
        long before = System.nanoTime();
        while (true) {
            LockSupport.parkNanos(INTERVAL_NS);
            int place = (int) (wakeUps++ % RING);
            byte[] last = (byte[]) ring[(place + RING - 1) % RING];
            byte[] next = new byte[64];
            next[0] = last == null ? 0 : (byte) (last[0] + 1);
            ring[place] = next;
            long now = System.nanoTime();
            note(before, now - before - INTERVAL_NS);
            before = now;
        }
    }

    private synchronized void note(long when, long lateNs) {
        if (lateNs < NOTED_NS) {
            return;
        }
        if (notes == NOTES) {
            leftOut++;
            return;
        }
        at[notes] = (int) ((when - start) / 1000);
        late[notes] = (int) Math.min(lateNs / 1000, Integer.MAX_VALUE);
        notes++;
    }

    private synchronized void write(String file) {
        try (DataOutputStream out = new DataOutputStream(new FileOutputStream(file))) {
            StringBuilder text = new StringBuilder();
            text.append(startMillis).append(' ').append(wakeUps).append(' ').append(leftOut).append('\n');
            for (int i = 0; i < notes; i++) {
                text.append(Integer.toUnsignedString(at[i])).append(' ').append(late[i]).append('\n');
            }
            out.writeBytes(text.toString());
        } catch (java.io.IOException e) {
            System.err.println("the probe's notes are lost: " + e);
        }
    }

    public static void main(String[] arguments) throws Throwable {
        Probe probe = new Probe();
        String file = System.getProperty("farheap.probe");
        Runtime.getRuntime().addShutdownHook(new Thread(() -> probe.write(file)));
        probe.start();
        Method main = Class.forName(arguments[0]).getMethod("main", String[].class);
        main.setAccessible(true);
        try {
            main.invoke(null, (Object) Arrays.copyOfRange(arguments, 1, arguments.length));
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
