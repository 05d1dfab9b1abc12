/** An interface that is initialized does not hide that one above it has failed. */
public class SuperinterfaceFails {
    interface Base {
        Object CONSTANT = new Target() { }.fail();

        default void important() { }
    }

    interface Target extends Base {
        boolean SAID = say("Target");

        default Object fail() {
            throw new IllegalStateException("on purpose");
        }
    }

    static class Late implements Target { }

    static boolean say(String name) {
        System.out.println("initializing " + name);
        return true;
    }

    static void make(java.util.function.Supplier<Object> maker) {
        try {
            maker.get();
            System.out.println("made");
        } catch (ExceptionInInitializerError | NoClassDefFoundError e) {
            System.out.println(e);
        }
    }

    public static void main(String[] args) {
        make(() -> new Target() { });
        make(Late::new);
        make(Late::new);
        System.out.println(Target.SAID);
    }
}
