// vm: -Xmx128m -XX:MaxMetaspaceSize=16m
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryNotificationInfo;
import java.lang.management.MemoryPoolMXBean;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.management.NotificationEmitter;
import javax.management.openmbean.CompositeData;

/** The pool of classes has the limit of the options, and a listener hears when a share of it is taken. */
public class ClassMemory {
    /** Is defined again and again, with numbers in the place of its name. */
    static class Small {}

    static final class Loader extends ClassLoader {
        private final String small;
        private int defined;

        Loader(byte[] small) {
            this.small = new String(small, StandardCharsets.ISO_8859_1);
        }

        void define(int classes) {
            for (int i = 0; i < classes; i++) {
                String number = String.format("%05d", defined++);
                byte[] bytes = small.replace("Small", number).getBytes(StandardCharsets.ISO_8859_1);
                defineClass("ClassMemory$" + number, bytes, 0, bytes.length);
            }
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] small;
        try (InputStream in = ClassMemory.class.getResourceAsStream("ClassMemory$Small.class")) {
            small = in.readAllBytes();
        }
        MemoryPoolMXBean pool = null;
        for (MemoryPoolMXBean each : ManagementFactory.getMemoryPoolMXBeans()) {
            if (each.getName().equals("Metaspace")) {
                pool = each;
            }
        }
        long max = pool.getUsage().getMax();
        System.out.println(max >= 16 << 20 && max < 64 << 20);
        LinkedBlockingQueue<MemoryNotificationInfo> heard = new LinkedBlockingQueue<>();
        NotificationEmitter memory = (NotificationEmitter) ManagementFactory.getMemoryMXBean();
        memory.addNotificationListener(
            (notification, handback) -> heard.add(MemoryNotificationInfo.from((CompositeData) notification.getUserData())), null, null);
        long before = pool.getUsage().getUsed();
        long threshold = before + (max - before) / 2;
        pool.setUsageThreshold(threshold);
        Loader loader = new Loader(small);
        MemoryNotificationInfo info = null;
        while (info == null && pool.getUsage().getUsed() < threshold) {
            loader.define(100);
            info = heard.poll();
        }
        if (info == null) {
            System.gc();
            info = heard.poll(10, TimeUnit.SECONDS);
        }
        System.out.println(info.getPoolName() + " " + (info.getUsage().getUsed() >= threshold) + " " + info.getCount());
        System.out.println(pool.isUsageThresholdExceeded());
        long used = pool.getUsage().getUsed();
        System.out.println(used >= threshold && used <= pool.getUsage().getCommitted() && pool.getPeakUsage().getUsed() >= threshold);
        String end = "no end";
        try {
            loader.define(90_000);
        } catch (OutOfMemoryError full) {
            loader = null;
            end = full.getMessage();
        }
        System.out.println(end);
    }
}
