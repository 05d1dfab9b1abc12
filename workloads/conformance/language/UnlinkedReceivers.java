/** Calls whose first receiver is null, while no object of its class exists: later ones select as ever. */
public class UnlinkedReceivers {
    static class A {
        String name() {
            return "A";
        }
    }

    static class B extends A {
        @Override
        String name() {
            return "B";
        }
    }

    abstract static class C {
        abstract int size(long first, Object second);
    }

    static class D extends C {
        @Override
        int size(long first, Object second) {
            return (int) first;
        }
    }

    static String call(A a) {
        return a.name();
    }

    static int size(C c) {
        return c.size(7L, "text");
    }

    public static void main(String[] args) {
        try {
            call(null);
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
        try {
            size(null);
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
        }
        for (int i = 0; i < 10_000; i++) {
            if (!call(new B()).equals("B") || !call(new A()).equals("A") || size(new D()) != 7) {
                System.out.println("the wrong method");
                return;
            }
        }
        System.out.println(call(new B()) + call(new A()) + size(new D()));
    }
}
