import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.reflect.RecordComponent;
import java.util.List;

/** The components of records by reflection; names and signatures are the constants of the program. */
public class RecordComponents {
    @Retention(RetentionPolicy.RUNTIME)
    @interface Marked {
        String value();
    }

    record Pair<T extends Comparable<T>>(@Marked("left") T first, List<? super T> second, int count) { }

    record Empty() { }

    public static void main(String[] args) throws Exception {
        for (RecordComponent component : Pair.class.getRecordComponents()) {
            System.out.println(component + "|" + component.getGenericType() + "|" + component.getGenericSignature() + "|"
                + List.of(component.getAnnotations()) + "|" + component.getAccessor());
        }
        RecordComponent first = Pair.class.getRecordComponents()[0];
        System.out.println((first.getName() == "first") + " " + (first.getGenericSignature() == "TT;"));
        System.out.println(first.getAccessor().invoke(new Pair<>("a", List.of(), 1)));
        System.out.println(Empty.class.getRecordComponents().length + " " + Object.class.isRecord());
    }
}
