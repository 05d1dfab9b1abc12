import java.lang.management.ClassLoadingMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryMXBean;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.management.OperatingSystemMXBean;
import java.lang.management.RuntimeMXBean;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import javax.management.MBeanServer;
import javax.management.ObjectName;

public class Beans {
    public static void main(String[] args) throws Exception {
        RuntimeMXBean runtime = ManagementFactory.getRuntimeMXBean();
        System.out.println(runtime.getSpecVersion() + " " + runtime.getUptime() / 1_000_000 + " " + (runtime.getStartTime() > 0) + " "
            + (runtime.getPid() == ProcessHandle.current().pid()) + " " + runtime.getName().contains("@") + " "
            + runtime.getInputArguments().stream().anyMatch(a -> a.startsWith("-Xmx")));
        MemoryMXBean memory = ManagementFactory.getMemoryMXBean();
        MemoryUsage heap = memory.getHeapMemoryUsage();
        System.out.println((heap.getUsed() > 0) + " " + (heap.getUsed() <= heap.getCommitted()) + " " + (heap.getCommitted() <= heap.getMax()));
        memory.gc();
        System.out.println(memory.getNonHeapMemoryUsage().getUsed() >= 0);
        long collections = 0;
        for (GarbageCollectorMXBean gc : ManagementFactory.getGarbageCollectorMXBeans()) {
            collections += gc.getCollectionCount();
            if (gc.getName().isEmpty() || gc.getCollectionTime() < 0) {
                System.out.println("bad collector bean");
            }
        }
        System.out.println(collections > 0);
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool.getUsage() == null || pool.getName().isEmpty()) {
                System.out.println("bad pool bean");
            }
        }
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        ThreadInfo self = threads.getThreadInfo(Thread.currentThread().getId(), 5);
        System.out.println(self.getThreadName() + " " + self.getThreadState() + " " + (self.getStackTrace().length > 0) + " "
            + (threads.getThreadCount() >= 1) + " " + (threads.getPeakThreadCount() >= threads.getDaemonThreadCount())
            + " " + (threads.findDeadlockedThreads() == null));
        long id = Thread.currentThread().getId();
        for (ThreadInfo info : threads.getThreadInfo(new long[] {id, Long.MAX_VALUE, id})) {
            System.out.println(info == null ? "no such thread" : info.getThreadName());
        }
        synchronized (memory) {
            for (boolean withMonitors : new boolean[] {false, true}) {
                for (ThreadInfo info : threads.dumpAllThreads(withMonitors, true)) {
                    if (info.getThreadId() == id) {
                        System.out.println(info.getLockedMonitors().length);
                    }
                }
            }
        }
        ClassLoadingMXBean classes = ManagementFactory.getClassLoadingMXBean();
        System.out.println((classes.getLoadedClassCount() > 300) + " " + (classes.getTotalLoadedClassCount() >= classes.getLoadedClassCount()));
        OperatingSystemMXBean os = ManagementFactory.getOperatingSystemMXBean();
        System.out.println(os.getName() + " " + os.getArch() + " " + (os.getAvailableProcessors() > 0));
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        System.out.println(server.getAttribute(new ObjectName("java.lang:type=Runtime"), "SpecVersion") + " "
            + server.isRegistered(new ObjectName("java.lang:type=Threading")));
    }
}
