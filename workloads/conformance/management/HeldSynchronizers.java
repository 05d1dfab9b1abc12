import java.lang.management.LockInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.Arrays;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** The locks of java.util.concurrent that threads hold, and the one that another waits for. */
public class HeldSynchronizers {
    public static void main(String[] args) throws Exception {
        ReentrantLock first = new ReentrantLock();
        ReentrantLock free = new ReentrantLock();
        ReentrantReadWriteLock both = new ReentrantReadWriteLock();
        first.lock();
        free.lock();
        free.unlock();
        both.writeLock().lock();
        Thread waiter = new Thread(first::lock, "waiter");
        waiter.setDaemon(true);
        waiter.start();
        while (waiter.getState() != Thread.State.WAITING) {
            Thread.sleep(1);
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        System.out.println(threads.isSynchronizerUsageSupported());
        long[] ids = {Thread.currentThread().getId(), waiter.getId()};
        for (boolean wanted : new boolean[] {false, true}) {
            for (ThreadInfo info : threads.getThreadInfo(ids, false, wanted)) {
                show(info);
            }
        }
        for (ThreadInfo info : threads.dumpAllThreads(true, true)) {
            if (info.getThreadId() == ids[0] || info.getThreadId() == ids[1]) {
                show(info);
            }
        }
        both.writeLock().unlock();
        for (ThreadInfo info : threads.getThreadInfo(ids, true, true)) {
            show(info);
        }
    }

    static void show(ThreadInfo info) {
        String[] held = Arrays.stream(info.getLockedSynchronizers()).map(LockInfo::getClassName).sorted().toArray(String[]::new);
        System.out.println(info.getThreadName() + " holds " + Arrays.toString(held) + " waits for "
            + (info.getLockInfo() == null ? null : info.getLockInfo().getClassName()) + " of " + info.getLockOwnerName());
    }
}
