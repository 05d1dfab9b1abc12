public class Interfaces {
    interface A {
        default String name() {
            return "A";
        }

        static String make() {
            return "static A";
        }

        private String hidden() {
            return "hidden " + name();
        }

        default String reveal() {
            return hidden();
        }
    }

    interface B extends A {
        default String name() {
            return "B" + A.super.name();
        }
    }

    interface C extends A {
        default String name() {
            return "C";
        }
    }

    static class D implements B, C {
        public String name() {
            return B.super.name() + C.super.name();
        }
    }

    static class Parent {
        public String name() {
            return "parent";
        }
    }

    static class E extends Parent implements A {}

    static abstract class Partial implements B {}

    static class F extends Partial {
        String both() {
            return name() + super.name();
        }
    }

    interface Constants {
        int X = compute();

        static int compute() {
            System.out.println("Constants initialised");
            return 42;
        }
    }

    static class UsesConstants implements Constants {
        static int y = 5;
    }

    interface WithDefault {
        int Z = init();

        static int init() {
            System.out.println("WithDefault initialised");
            return 1;
        }

        default void noop() {}
    }

    static class ImplementsDefault implements WithDefault {}

    public static void main(String[] args) {
        A[] all = {new A() {}, new B() {}, new D(), new E(), new F()};
        for (A a : all) {
            System.out.println(a.name() + " / " + a.reveal());
        }
        System.out.println(A.make() + " " + new F().both());
        System.out.println(UsesConstants.y);
        System.out.println(Constants.X);
        new ImplementsDefault();
        System.out.println("done");
        Object o = all[0];
        System.out.println((o instanceof B) + " " + (all[4] instanceof B) + " " + A.class.isInterface());
        System.out.println(all[2].toString().startsWith("Interfaces$D@"));
    }
}
