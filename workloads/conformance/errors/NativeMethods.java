public class NativeMethods {
    native int missing(int a);

    static native void alsoMissing();

    public static void main(String[] args) {
        try {
            new NativeMethods().missing(1);
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        try {
            alsoMissing();
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        try {
            System.loadLibrary("surely-not-there");
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage().startsWith("no surely-not-there in java.library.path"));
        }
        try {
            System.load("relative.so");
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        try {
            System.load("/no/such/library.so");
        } catch (UnsatisfiedLinkError e) {
            System.out.println(e.getMessage());
        }
        System.out.println(System.mapLibraryName("x"));
    }
}
