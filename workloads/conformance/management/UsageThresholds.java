// vm: -Xmx128m
import com.sun.management.GarbageCollectorMXBean;
import com.sun.management.GcInfo;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** A listener hears that more of the heap is in use than a threshold; the last collection can be asked about. */
public class UsageThresholds {
    public static void main(String[] args) throws Exception {
        MemoryPoolMXBean pool = null;
        for (MemoryPoolMXBean each : ManagementFactory.getMemoryPoolMXBeans()) {
            if (pool == null && each.getType() == MemoryType.HEAP && each.isUsageThresholdSupported()) {
                pool = each;
            }
        }
        LinkedBlockingQueue<MemoryNotificationInfo> heard = new LinkedBlockingQueue<>();
        NotificationEmitter memory = (NotificationEmitter) ManagementFactory.getMemoryMXBean();
        memory.addNotificationListener(
            (notification, handback) -> heard.add(MemoryNotificationInfo.from((CompositeData) notification.getUserData())), null, null);
        System.out.println(pool.getUsageThreshold() + " " + pool.getUsageThresholdCount());
        long threshold = pool.getUsage().getUsed() + (24 << 20);
        pool.setUsageThreshold(threshold);
        System.out.println((pool.getUsageThreshold() == threshold) + " " + pool.isUsageThresholdExceeded());
        List<byte[]> kept = new ArrayList<>();
        MemoryNotificationInfo info = null;
        for (int i = 0; i < 100 && info == null; i++) {
            if (i < 14) {
                kept.add(new byte[4 << 20]);
            }
            System.gc();
            info = heard.poll(100, TimeUnit.MILLISECONDS);
        }
        System.out.println(info.getPoolName().equals(pool.getName()) + " " + (info.getUsage().getUsed() >= threshold) + " " + info.getCount());
        System.out.println(pool.isUsageThresholdExceeded() + " " + pool.getUsageThresholdCount() + " " + kept.isEmpty());
        try {
            pool.setUsageThreshold(-1);
        } catch (IllegalArgumentException e) {
            System.out.println("not negative");
        }
        boolean isSane = true;
        int seen = 0;
        for (var bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            GcInfo last = ((GarbageCollectorMXBean) bean).getLastGcInfo();
            if (last != null) {
                seen++;
                isSane &= last.getId() > 0 && last.getEndTime() >= last.getStartTime()
                    && last.getMemoryUsageAfterGc().keySet().equals(last.getMemoryUsageBeforeGc().keySet());
            }
        }
        System.out.println(isSane + " " + (seen > 0));
    }
}
