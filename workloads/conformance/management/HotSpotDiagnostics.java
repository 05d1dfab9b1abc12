import com.sun.management.HotSpotDiagnosticMXBean;
import com.sun.management.VMOption;
import java.io.File;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import javax.management.MBeanOperationInfo;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/** Options that can be changed, heap dumps, and diagnostic commands, by beans. */
public class HotSpotDiagnostics {
    public static void main(String[] args) throws Exception {
        HotSpotDiagnosticMXBean bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        show(bean.getVMOption("HeapDumpOnOutOfMemoryError"));
        bean.setVMOption("HeapDumpOnOutOfMemoryError", "true");
        bean.setVMOption("HeapDumpPath", "/no/such/folder/x.hprof");
        show(bean.getVMOption("HeapDumpOnOutOfMemoryError"));
        show(bean.getVMOption("HeapDumpPath"));
        System.out.println(bean.getDiagnosticOptions().stream().anyMatch(option -> option.getName().equals("HeapDumpPath")));
        for (String[] wrong : new String[][] {{"NoSuchOption", "1"}, {"MaxHeapSize", "1"}, {"HeapDumpOnOutOfMemoryError", "perhaps"}}) {
            try {
                bean.setVMOption(wrong[0], wrong[1]);
                System.out.println("set " + wrong[0]);
            } catch (IllegalArgumentException e) {
                System.out.println("refused " + wrong[0]);
            }
        }

        Path folder = Files.createTempDirectory("dumps");
        File dump = folder.resolve("a.hprof").toFile();
        bean.dumpHeap(dump.getPath(), true);
        System.out.println("dumped " + (dump.length() > 100_000));
        try {
            bean.dumpHeap(dump.getPath(), true);
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
        dump.delete();
        Files.delete(folder);

        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        for (String name : new String[] {"threadPrint", "gcClassHistogram", "gcRun", "vmVersion", "vmUptime", "vmFlags", "vmSystemProperties", "help"}) {
            for (MBeanOperationInfo operation : server.getMBeanInfo(commands).getOperations()) {
                if (operation.getName().equals(name)) {
                    System.out.println(name + " " + operation.getSignature().length + " " + operation.getReturnType());
                }
            }
        }
        String[] signature = {String[].class.getName()};
        String threads = (String) server.invoke(commands, "threadPrint", new Object[] {new String[] {"-l"}}, signature);
        System.out.println(threads.contains("\"main\" #1 prio=5") + " " + threads.contains("Locked ownable synchronizers:"));
        String histogram = (String) server.invoke(commands, "gcClassHistogram", new Object[] {new String[0]}, signature);
        System.out.println(histogram.contains("java.lang.String"));
        String properties = (String) server.invoke(commands, "vmSystemProperties", null, null);
        System.out.println(properties.contains("java.specification.version=17"));
        try {
            server.invoke(commands, "threadPrint", new Object[] {new String[] {"-x"}}, signature);
        } catch (Exception e) {
            Throwable cause = e;
            while (cause.getCause() != null) {
                cause = cause.getCause();
            }
            System.out.println(cause);
        }
    }

    static void show(VMOption option) {
        System.out.println(option.getName() + " " + option.getValue() + " " + option.isWriteable() + " " + option.getOrigin());
    }
}
