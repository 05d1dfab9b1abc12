// vm: -Da=1 -Db=x=y -Dempty -Djava.awt.headless=true
import java.util.Map;

public class SystemProperties {
    public static void main(String[] args) {
        System.out.println(System.getProperty("a") + " " + System.getProperty("b") + " [" + System.getProperty("empty") + "]");
        System.out.println(Integer.getInteger("a") + " " + Boolean.getBoolean("java.awt.headless") + " " + Long.getLong("b", 9L));
        System.setProperty("set", "now");
        System.out.println(System.getProperty("set") + " " + System.clearProperty("set") + " " + System.getProperty("set"));
        for (String name : new String[] {"java.vm.specification.name", "java.specification.name", "java.vm.specification.version",
            "path.separator", "line.separator", "file.encoding", "os.arch", "sun.arch.data.model", "user.language", "java.io.tmpdir",
            "sun.jnu.encoding", "native.encoding", "java.vm.specification.vendor", "java.class.version"}) {
            System.out.println(name + "=" + System.getProperty(name).trim());
        }
        for (String name : new String[] {"java.home", "java.vm.name", "java.vm.version", "java.vendor", "java.class.path", "user.name",
            "java.library.path", "java.vm.info", "java.runtime.version", "java.runtime.name", "java.version.date", "os.version"}) {
            System.out.println(name + " " + (System.getProperty(name) != null));
        }
        Map<String, String> env = System.getenv();
        System.out.println(env.containsKey("PATH") + " " + System.getenv("NO_SUCH_VARIABLE") + " " + System.getenv("TZ"));
        try {
            env.put("x", "y");
        } catch (UnsupportedOperationException e) {
            System.out.println("read only");
        }
        try {
            System.getProperty("");
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Runtime.version().feature() + " " + (Runtime.getRuntime().availableProcessors() > 0));
    }
}
