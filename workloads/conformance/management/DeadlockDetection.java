import java.lang.management.ManagementFactory;
import java.lang.management.MonitorInfo;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;

public class DeadlockDetection {
    static final Object A = new Object();
    static final Object B = new Object();

    static void lockBoth(Object first, Object second, CountDownLatch both) {
        synchronized (first) {
            both.countDown();
            try {
                both.await();
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
            synchronized (second) {
                System.out.println("impossible");
            }
        }
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch both = new CountDownLatch(2);
        Thread one = new Thread(() -> lockBoth(A, B, both), "one");
        Thread two = new Thread(() -> lockBoth(B, A, both), "two");
        one.setDaemon(true);
        two.setDaemon(true);
        one.start();
        two.start();
        while (one.getState() != Thread.State.BLOCKED || two.getState() != Thread.State.BLOCKED) {
            Thread.sleep(1);
        }
        ThreadMXBean bean = ManagementFactory.getThreadMXBean();
        long[] ids = bean.findMonitorDeadlockedThreads();
        System.out.println(ids.length);
        ThreadInfo info = bean.getThreadInfo(one.getId());
        System.out.println(info.getLockOwnerName() + " " + info.getThreadState() + " " + info.getLockName().startsWith("java.lang.Object@"));
        for (ThreadInfo i : bean.getThreadInfo(new long[] {two.getId()}, true, false)) {
            for (MonitorInfo m : i.getLockedMonitors()) {
                System.out.println(m.getClassName() + " " + m.getLockedStackFrame().getMethodName());
            }
        }
    }
}
