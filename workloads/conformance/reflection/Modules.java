import java.lang.module.ModuleDescriptor;
import java.lang.module.ModuleFinder;
import java.nio.file.spi.FileSystemProvider;
import java.util.ServiceLoader;
import java.util.TreeSet;
import java.util.spi.ToolProvider;

public class Modules {
    public static void main(String[] args) throws Exception {
        Module base = Object.class.getModule();
        Module own = Modules.class.getModule();
        Module sql = ModuleLayer.boot().findModule("java.logging").get();
        System.out.println(base.getName() + " " + base.isNamed() + " " + own.isNamed() + " " + own.getName() + " " + own.getLayer());
        System.out.println(base.isExported("java.util") + " " + base.isExported("sun.misc") + " " + base.isExported("jdk.internal.misc") + " "
            + base.isExported("jdk.internal.misc", own) + " " + base.isOpen("java.lang", own) + " " + own.canRead(base) + " " + base.canRead(own) + " "
            + own.isOpen("anything") + " " + sql.canRead(base));
        ModuleDescriptor d = base.getDescriptor();
        System.out.println(d.name() + " " + d.exports().size() / 1000 + " " + d.requires() + " " + d.isOpen() + " " + d.isAutomatic() + " " + d.packages().contains("java.lang"));
        System.out.println(new TreeSet<>(sql.getDescriptor().requires().stream().map(r -> r.name()).toList()));
        System.out.println(ModuleFinder.ofSystem().find("java.xml").isPresent() + " " + ModuleFinder.ofSystem().find("no.such").isPresent());
        System.out.println(ModuleLayer.boot().modules().size() > 20);
        try {
            Class<?> c = Class.forName("jdk.internal.misc.Unsafe");
            c.getMethod("getUnsafe").invoke(null);
        } catch (IllegalAccessException e) {
            System.out.println(e.getMessage().replaceAll("@[0-9a-f]+", "@HASH"));
        }
        try {
            String.class.getDeclaredField("value").setAccessible(true);
        } catch (java.lang.reflect.InaccessibleObjectException e) {
            System.out.println(e.getMessage().replaceAll("@[0-9a-f]+", "@HASH"));
        }
        own.addReads(sql);
        System.out.println(own.addExports("", base) == own);
        System.out.println(ServiceLoader.load(ToolProvider.class).stream().map(p -> p.get().name()).sorted().toList().contains("jar") + " "
            + FileSystemProvider.installedProviders().size() + " " + ToolProvider.findFirst("javac").isPresent());
        System.out.println(Class.forName(base, "java.lang.Integer") + " " + Class.forName(base, "no.Such") + " " + base.getResourceAsStream("java/lang/Object.class").read());
        System.out.println(base.getAnnotations().length + " " + base.getClassLoader() + " " + new TreeSet<>(sql.getPackages()));
    }
}
