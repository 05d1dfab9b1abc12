// vm: --module-path no-such-folder --add-modules java.logging
import java.lang.module.ModuleFinder;
import java.nio.file.Path;

/** A module path is read while the boot layer is made, with natives of libraries that were loaded a moment ago. */
public class ModulePath {
    public static void main(String[] args) {
        System.out.println(System.getProperty("jdk.module.path"));
        System.out.println(ModuleLayer.boot().findModule("java.logging").isPresent());
        System.out.println(ModuleFinder.of(Path.of("no-such-folder")).findAll());
        System.out.println(ModulePath.class.getModule().isNamed());
    }
}
