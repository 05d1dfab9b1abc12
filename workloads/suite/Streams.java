package suite;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntBinaryOperator;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;

/** Streams, collectors and lambdas over a table of records. */
public class Streams {
    public static void main(String[] args) {
        List<Person> people = people(2500);
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(60, size); i > 0; i--) {
                sum = sum * 31 + report(people, 1940 + i);
                sum = sum * 31 + ranges(i);
                sum = sum * 31 + functions(i);
            }
            return sum;
        });
    }

    record Person(String name, String town, int born, double height) {}

    record Pair(int low, int high) {}

    private static List<Person> people(int count) {
        String[] names = {"Ada", "Bo", "Cleo", "Dan", "Eve", "Finn", "Gus", "Hal", "Ida", "Jo"};
        String[] towns = {"Aarhus", "Bern", "Cork", "Delft", "Essen", "Faro", "Ghent"};
        Harness.Rng rng = new Harness.Rng(8);
        return IntStream.range(0, count)
            .mapToObj(i -> new Person(names[rng.below(names.length)] + i % 90, towns[rng.below(towns.length)],
                1930 + rng.below(80), 150 + rng.below(500) / 10.0))
            .collect(Collectors.toCollection(ArrayList::new));
    }

    private static long report(List<Person> people, int since) {
        Map<String, List<Person>> byTown = people.stream()
            .filter(person -> person.born() >= since)
            .collect(Collectors.groupingBy(Person::town));
        long sum = 0;
        for (Map.Entry<String, List<Person>> entry : byTown.entrySet()) {
            double mean = entry.getValue().stream().mapToDouble(Person::height).average().orElse(0);
            sum = sum * 31 + entry.getKey().hashCode() + (long) (mean * 100);
        }
        String tallest = people.stream()
            .sorted(Comparator.comparingDouble(Person::height).reversed().thenComparing(Person::name))
            .limit(10)
            .map(Person::name)
            .collect(Collectors.joining(","));
        Map<Integer, Long> byDecade = people.stream()
            .collect(Collectors.groupingBy(person -> person.born() / 10, Collectors.counting()));
        int distinct = people.stream().map(Person::name).collect(Collectors.toSet()).size();
        return sum * 31 + tallest.hashCode() + byDecade.hashCode() + distinct;
    }

    private static long ranges(int seed) {
        int squares = IntStream.rangeClosed(1, 4000)
            .filter(n -> (n ^ seed) % 3 != 0)
            .map(n -> n * n)
            .reduce(0, (a, b) -> a * 7 + b);
        List<Pair> pairs = IntStream.range(1, 60).boxed()
            .flatMap(low -> IntStream.range(low, 60).mapToObj(high -> new Pair(low, high)))
            .filter(pair -> (pair.low() * pair.high() + seed) % 7 == 0)
            .toList();
        long collatz = Stream.iterate((long) seed + 26, n -> n != 1, n -> n % 2 == 0 ? n / 2 : 3 * n + 1).count();
        return squares * 31L + pairs.hashCode() + collatz;
    }

    /** Lambdas that capture, are composed, and are called many times. */
    private static long functions(int seed) {
        List<Function<Integer, Integer>> steps = new ArrayList<>();
        for (int i = 0; i < 8; i++) {
            int add = i + seed;
            steps.add(i % 2 == 0 ? n -> n + add : n -> n * 3 - add);
        }
        Function<Integer, Integer> all = steps.stream().reduce(Function.identity(), Function::andThen);
        IntBinaryOperator mix = (a, b) -> a * 31 + b;
        Supplier<int[]> fresh = () -> new int[] {seed};
        int[] cell = fresh.get();
        for (int i = 0; i < 2000; i++) {
            cell[0] = mix.applyAsInt(cell[0], all.apply(i));
        }
        return cell[0];
    }
}
