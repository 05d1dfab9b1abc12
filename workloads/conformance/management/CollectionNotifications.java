import com.sun.management.GarbageCollectionNotificationInfo;
import com.sun.management.GcInfo;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.Notification;
import javax.management.NotificationEmitter;
import javax.management.NotificationListener;
import javax.management.openmbean.CompositeData;

/** Listeners of collectors hear of a collection that the program asks for, with all that monitoring shows of it. */
public class CollectionNotifications {
    public static void main(String[] args) throws Exception {
        LinkedBlockingQueue<Notification> heard = new LinkedBlockingQueue<>();
        NotificationListener listener = (notification, handback) -> heard.add(notification);
        List<NotificationEmitter> emitters = new ArrayList<>();
        Set<String> names = new TreeSet<>();
        for (GarbageCollectorMXBean bean : ManagementFactory.getGarbageCollectorMXBeans()) {
            emitters.add((NotificationEmitter) bean);
            names.add(bean.getName());
        }
        for (NotificationEmitter emitter : emitters) {
            emitter.addNotificationListener(listener, null, null);
        }
        Set<String> pools = new TreeSet<>();
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            pools.add(pool.getName());
        }
        System.gc();
        GarbageCollectionNotificationInfo info = null;
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(20);
        while (info == null && System.nanoTime() < end) {
            Notification next = heard.poll(1, TimeUnit.SECONDS);
            if (next != null && next.getType().equals(GarbageCollectionNotificationInfo.GARBAGE_COLLECTION_NOTIFICATION)) {
                GarbageCollectionNotificationInfo of = GarbageCollectionNotificationInfo.from((CompositeData) next.getUserData());
                if (of.getGcCause().equals("System.gc()")) {
                    info = of;
                    System.out.println("time " + (next.getTimeStamp() > 0) + " source " + next.getSource().toString().contains("GarbageCollector"));
                }
            }
        }
        GcInfo gc = info.getGcInfo();
        System.out.println("name " + names.contains(info.getGcName()) + " action " + info.getGcAction().startsWith("end of "));
        System.out.println("id " + (gc.getId() > 0) + " duration " + (gc.getDuration() >= 0) + " order " + (gc.getStartTime() <= gc.getEndTime()));
        System.out.println("pools " + gc.getMemoryUsageBeforeGc().keySet().equals(pools) + " " + gc.getMemoryUsageAfterGc().keySet().equals(pools));
        System.out.println("code and classes " + pools.contains("Metaspace") + " " + pools.stream().anyMatch(p -> p.startsWith("Code")));

        // Nobody hears of collections once the listeners are gone.
        for (NotificationEmitter emitter : emitters) {
            emitter.removeNotificationListener(listener);
        }
        Thread.sleep(200);
        heard.clear();
        System.gc();
        System.out.println("heard after removal " + (heard.poll(300, TimeUnit.MILLISECONDS) != null));
    }
}
