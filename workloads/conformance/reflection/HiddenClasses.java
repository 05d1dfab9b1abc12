import java.io.InputStream;
import java.lang.invoke.MethodHandles;
import java.util.List;

public class HiddenClasses {
    private static int secret = 5;

    static class Template implements Runnable {
        static int runs;

        @Override
        public void run() {
            runs++;
            System.out.println("hidden run " + runs + " " + secret++);
        }
    }

    static class WithData {
        static Object data() throws Exception {
            return MethodHandles.classData(MethodHandles.lookup(), "_", List.class);
        }
    }

    static byte[] bytes(String name) throws Exception {
        try (InputStream in = HiddenClasses.class.getResourceAsStream(name + ".class")) {
            return in.readAllBytes();
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] template = bytes("HiddenClasses$Template");
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        Class<?> first = lookup.defineHiddenClass(template, true, MethodHandles.Lookup.ClassOption.NESTMATE).lookupClass();
        Class<?> second = lookup.defineHiddenClass(template, true, MethodHandles.Lookup.ClassOption.NESTMATE).lookupClass();
        System.out.println((first == second) + " " + first.isHidden() + " " + first.getName().startsWith("HiddenClasses$Template/0x") + " "
            + (first.getNestHost() == HiddenClasses.class));
        try {
            System.out.println(first.getSimpleName());
        } catch (IncompatibleClassChangeError e) {
            System.out.println(e.getMessage().replaceAll("0x[0-9a-f]+", "ADDRESS"));
        }
        var ctor = first.getDeclaredConstructor();
        ctor.setAccessible(true);
        ((Runnable) ctor.newInstance()).run();
        ((Runnable) ctor.newInstance()).run();
        ctor = second.getDeclaredConstructor();
        ctor.setAccessible(true);
        ((Runnable) ctor.newInstance()).run();
        new Template().run();
        try {
            Class.forName(first.getName());
        } catch (ClassNotFoundException e) {
            System.out.println("not findable");
        }
        Class<?> data = lookup.defineHiddenClassWithClassData(bytes("HiddenClasses$WithData"), List.of("class", "data"), true).lookupClass();
        var method = data.getDeclaredMethod("data");
        method.setAccessible(true);
        System.out.println(method.invoke(null));
        System.out.println(first.descriptorString().contains("/") + " " + first.arrayType().getComponentType().isHidden());
        try {
            lookup.defineHiddenClass(new byte[] {1, 2, 3}, true);
        } catch (ClassFormatError e) {
            System.out.println(e.getClass().getSimpleName());
        }
        try {
            lookup.defineHiddenClass(null, true);
        } catch (NullPointerException e) {
            System.out.println("null");
        }
        java.util.function.Supplier<String> lambda = () -> "lambda";
        System.out.println(lambda.getClass().isHidden());
    }
}
