public class InitOrder {
    static StringBuilder log = new StringBuilder();

    static int note(String s) {
        System.out.println(s);
        return s.length();
    }

    static class Parent {
        static int a = note("Parent static");
        int b = note("Parent field");

        {
            note("Parent block");
        }

        Parent() {
            note("Parent constructor");
            hook();
        }

        void hook() {
            note("Parent hook");
        }
    }

    static class Child extends Parent {
        static int c = note("Child static");
        int d = note("Child field");
        final int constant = 5;
        int late = 9;

        {
            note("Child block " + d);
        }

        Child() {
            this(1);
            note("Child constructor");
        }

        Child(int x) {
            super();
            note("Child(int) " + x);
        }

        @Override
        void hook() {
            note("Child hook " + d + " " + constant + " " + late);
        }
    }

    static class Compile {
        static final int INLINE = 10;
        static final Integer BOXED = note("Compile initialised");
        static final String TEXT = "text";
    }

    static class Cycle1 {
        static int x = Cycle2.y + 1;
    }

    static class Cycle2 {
        static int y = Cycle1.x + 1;
    }

    static class ByReflection {
        static {
            note("ByReflection initialised");
        }
    }

    static class Grand extends Child {
        static {
            note("Grand static");
        }

        static void call() {
            note("Grand call");
        }
    }

    public static void main(String[] args) throws Exception {
        note("main");
        Parent[] none = new Parent[3];
        note("array made " + none.length);
        System.out.println(Compile.INLINE + Compile.TEXT);
        note("constants read");
        System.out.println(Compile.BOXED);
        new Child();
        note("second");
        new Child();
        System.out.println(Cycle1.x + " " + Cycle2.y);
        Class<?> c = ByReflection.class;
        note("class literal " + c.getSimpleName());
        Class.forName("InitOrder$ByReflection", false, InitOrder.class.getClassLoader());
        note("not yet");
        Class.forName("InitOrder$ByReflection");
        System.out.println(Grand.a);
        note("inherited static read");
        Grand.call();
    }
}
