import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.OptionalInt;

public class Optionals {
    public static void main(String[] args) {
        Optional<String> full = Optional.of("value");
        Optional<String> empty = Optional.empty();
        System.out.println(full + " " + empty + " " + OptionalInt.of(3) + " " + OptionalDouble.empty());
        System.out.println(full.map(String::length).orElse(0) + " " + empty.map(String::length).orElse(0));
        System.out.println(full.filter(s -> s.startsWith("x")).isPresent() + " " + empty.isEmpty());
        System.out.println(full.flatMap(s -> Optional.of(s + "!")).get() + empty.or(() -> Optional.of("other")).get());
        System.out.println(empty.orElseGet(() -> "made") + " " + Optional.ofNullable(null).isPresent());
        full.ifPresentOrElse(System.out::println, () -> System.out.println("none"));
        empty.ifPresentOrElse(System.out::println, () -> System.out.println("none"));
        System.out.println(full.stream().count() + empty.stream().count());
        try {
            empty.get();
        } catch (NoSuchElementException e) {
            System.out.println(e.getMessage());
        }
        try {
            empty.orElseThrow(() -> new IllegalArgumentException("custom"));
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        try {
            Optional.of(null);
        } catch (NullPointerException e) {
            System.out.println("null");
        }
        System.out.println(full.equals(Optional.of("value")) + " " + full.hashCode() + " " + empty.hashCode());
    }
}
