import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicInteger;
import javax.management.Attribute;
import javax.management.AttributeChangeNotification;
import javax.management.InstanceNotFoundException;
import javax.management.MBeanServer;
import javax.management.NotificationBroadcasterSupport;
import javax.management.ObjectName;

public class MBeans {
    public interface CounterMBean {
        int getCount();

        void setCount(int n);

        int add(int n);
    }

    public static class Counter extends NotificationBroadcasterSupport implements CounterMBean {
        private int count;

        @Override
        public int getCount() {
            return count;
        }

        @Override
        public void setCount(int n) {
            sendNotification(new AttributeChangeNotification(this, 1, 0, "changed", "Count", "int", count, n));
            count = n;
        }

        @Override
        public int add(int n) {
            return count += n;
        }
    }

    public static void main(String[] args) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName name = new ObjectName("far:type=Counter");
        server.registerMBean(new Counter(), name);
        AtomicInteger seen = new AtomicInteger();
        server.addNotificationListener(name, (n, h) -> seen.incrementAndGet(), null, null);
        server.setAttribute(name, new Attribute("Count", 5));
        System.out.println(server.invoke(name, "add", new Object[] {3}, new String[] {"int"}) + " " + server.getAttribute(name, "Count") + " " + seen);
        System.out.println(server.getMBeanInfo(name).getAttributes().length + " " + server.queryNames(new ObjectName("far:*"), null));
        server.unregisterMBean(name);
        try {
            server.getAttribute(name, "Count");
        } catch (InstanceNotFoundException e) {
            System.out.println(e.getMessage());
        }
    }
}
