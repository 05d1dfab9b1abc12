import java.util.ArrayList;
import java.util.List;

public class ClassCastMessages {
    interface Shape {}

    static class Circle implements Shape {}

    static void check(Runnable r) {
        try {
            r.run();
        } catch (ClassCastException | ArrayStoreException | NegativeArraySizeException e) {
            System.out.println(e.getClass().getSimpleName() + ": " + e.getMessage());
        }
    }

    public static void main(String[] args) {
        Object s = "text";
        Object list = new ArrayList<>(List.of(1));
        Object circle = new Circle();
        Object array = new int[1];
        Object objects = new Object[0];
        check(() -> System.out.println((Integer) s));
        check(() -> System.out.println((Circle) s));
        check(() -> System.out.println((String) circle));
        check(() -> System.out.println((Shape) list));
        check(() -> System.out.println((Runnable) circle));
        check(() -> System.out.println((String) array));
        check(() -> System.out.println((String[]) objects));
        check(() -> System.out.println((Circle[]) objects));
        check(() -> System.out.println((int[][]) array));
        check(() -> ((Object[]) new Circle[1])[0] = "x");
        check(() -> System.out.println(new Circle[-3].length));
        check(() -> System.out.println(Integer.class.cast("s")));
        check(() -> System.out.println(((List<Integer>) (List<?>) List.of("a")).get(0) + 1));
        System.out.println(String.class.cast(null));
        System.out.println(Shape.class.isInstance(circle) + " " + Object[].class.isAssignableFrom(String[].class)
            + " " + Object[].class.isAssignableFrom(int[].class) + " " + Object.class.isAssignableFrom(int[].class));
    }
}
