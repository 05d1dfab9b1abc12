import java.util.Arrays;
import java.util.Comparator;
import java.util.IntSummaryStatistics;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.DoubleStream;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;

// zeal
public class Streams {
    record Person(String name, int age, String city) {}

    static void show(Object o) {
        System.out.println(o);
    }

    public static void main(String[] args) {
        List<Person> people = List.of(new Person("Ann", 30, "Oslo"), new Person("Bob", 25, "Rome"),
            new Person("Cid", 35, "Oslo"), new Person("Dee", 25, "Bonn"), new Person("Eve", 41, "Rome"));
        System.out.println(people.stream().filter(p -> p.age() > 26).map(Person::name).toList());
        show(people.stream().collect(Collectors.groupingBy(Person::city, TreeMap::new,
            Collectors.mapping(Person::name, Collectors.joining("/", "<", ">")))));
        System.out.println(new TreeMap<>(people.stream().collect(Collectors.partitioningBy(p -> p.age() < 30,
            Collectors.averagingInt(Person::age)))));
        System.out.println(people.stream().sorted(Comparator.comparingInt(Person::age).thenComparing(Person::name,
            Comparator.reverseOrder())).map(Person::name).collect(Collectors.joining(",")));
        show(people.stream().collect(Collectors.toMap(Person::city, Person::age, Integer::sum, TreeMap::new)));
        IntSummaryStatistics stats = people.stream().mapToInt(Person::age).summaryStatistics();
        System.out.println(stats);
        System.out.println(IntStream.rangeClosed(1, 10).boxed().reduce(1, (a, b) -> a * b % 1009));
        System.out.println(Stream.iterate(1, x -> x * 2).limit(15).skip(5).map(String::valueOf).collect(Collectors.toList()));
        System.out.println(Stream.iterate(1, x -> x < 100, x -> x * 3).toList());
        System.out.println(Stream.of("b,a", "c", "", "a,d,e").flatMap(s -> Arrays.stream(s.split(",")))
            .filter(s -> !s.isEmpty()).distinct().sorted().toList());
        System.out.println(IntStream.range(0, 100).filter(i -> i % 7 == 3).mapToObj(Integer::toHexString).toList());
        System.out.println(LongStream.of(5, 3, 9).max().getAsLong() + " " + DoubleStream.of(1.5, 2.5).sum() + " "
            + IntStream.empty().average());
        System.out.println(Stream.of(1, 2, 3, 4, 5, 1).takeWhile(x -> x < 4).toList() + " "
            + Stream.of(1, 2, 3, 4, 5, 1).dropWhile(x -> x < 4).toList());
        System.out.println(people.stream().anyMatch(p -> p.age() == 41) + " " + people.stream().allMatch(p -> p.age() > 25)
            + " " + people.stream().noneMatch(p -> p.city().isEmpty()) + " " + people.stream().count());
        StringBuilder trace = new StringBuilder();
        Optional<Integer> first = Stream.of(5, 8, 12, 7).peek(x -> trace.append(x).append(' ')).filter(x -> x > 7).findFirst();
        System.out.println(first.get() + " after " + trace);
        show(Stream.of(1, 2, 3).collect(Collectors.teeing(Collectors.counting(),
            Collectors.summingInt(x -> x), (n, s) -> n + ":" + s)));
        System.out.println(Stream.of(1, 2, 3, 4).<String>mapMulti((x, out) -> {
            if (x % 2 == 0) {
                out.accept("e" + x);
                out.accept("E" + x);
            }
        }).toList());
        Stream<Integer> used = Stream.of(1);
        used.count();
        try {
            used.count();
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        Map<Boolean, Long> counted = IntStream.range(0, 50).boxed().collect(Collectors.partitioningBy(i -> i % 3 == 0, Collectors.counting()));
        System.out.println(counted);
        System.out.println("hello".chars().mapToObj(c -> (char) c).map(String::valueOf).collect(Collectors.joining("-")));
        System.out.println(Stream.concat(Stream.of(1), Stream.of(2)).map(x -> x * x).toList() + " "
            + Arrays.stream(new int[] {4, 5, 6}, 1, 3).sum() + " " + Stream.generate(() -> "z").limit(3).toList());
    }
}
