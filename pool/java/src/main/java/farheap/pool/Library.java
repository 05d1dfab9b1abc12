package farheap.pool;

import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.Cleaner;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/** The native library, and what frees native objects. */
final class Library {
    /** Frees native objects whose Java objects are unreachable. Its thread is a daemon. */
    static final Cleaner CLEANER = Cleaner.create();

    private static final String NAME = "farheap_pool";

    static {
        load();
    }

    private Library() {}

    /** Loads the library, once. */
    static void need() {}

    /** A library on the path comes first: it is how another version is tried. */
    private static void load() {
        try {
            System.loadLibrary(NAME);
            return;
        } catch (UnsatisfiedLinkError missing) {
            // The one in the jar.
        }
        String file = System.mapLibraryName(NAME);
        try (InputStream stored = Library.class.getResourceAsStream(file)) {
            if (stored == null) {
                throw new UnsatisfiedLinkError(file + " is neither on java.library.path nor in the jar");
            }
            Path copy = Files.createTempFile(NAME, ".so");
            try {
                Files.copy(stored, copy, StandardCopyOption.REPLACE_EXISTING);
                System.load(copy.toString());
            } finally {
                // What is loaded stays without its name.
                Files.delete(copy);
            }
        } catch (IOException failure) {
            throw new UnsatisfiedLinkError(file + ": " + failure);
        }
    }
}
