import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

public class TextBlocksOfData {
    record Sale(String region, String product, int units, double price) {}

    static final String DATA = """
        north,tea,10,2.50
        south,coffee,7,4.00
        north,coffee,3,4.10
        east,tea,12,2.40
        south,tea,,2.55
        east,milk,x,1
        north,milk,5,1.05
        """;

    public static void main(String[] args) {
        List<Sale> sales = new ArrayList<>();
        List<String> bad = new ArrayList<>();
        for (String line : DATA.lines().toList()) {
            String[] f = line.split(",");
            try {
                sales.add(new Sale(f[0], f[1], Integer.parseInt(f[2]), Double.parseDouble(f[3])));
            } catch (NumberFormatException e) {
                bad.add(line + " (" + e.getMessage() + ")");
            }
        }
        System.out.println(bad);
        Map<String, Double> revenue = sales.stream().collect(Collectors.groupingBy(Sale::region, TreeMap::new, Collectors.summingDouble(s -> s.units() * s.price())));
        revenue.forEach((k, v) -> System.out.printf("%-6s %8.2f%n", k, v));
        System.out.println(sales.stream().max(Comparator.comparingDouble(s -> s.units() * s.price())).get());
        Map<String, List<Integer>> byProduct = new HashMap<>();
        sales.forEach(s -> byProduct.computeIfAbsent(s.product(), k -> new ArrayList<>()).add(s.units()));
        System.out.println(new TreeMap<>(byProduct));
        int[] histogram = new int[26];
        DATA.chars().filter(Character::isLetter).forEach(c -> histogram[c - 'a']++);
        System.out.println(Arrays.toString(histogram));
        System.out.println(sales.stream().map(Sale::product).distinct().sorted(Comparator.comparing(String::length).reversed()).toList());
    }
}
