package suite;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/** Hash maps with strings and boxed numbers as keys, sets, and a sorted map. */
public class Maps {
    public static void main(String[] args) {
        List<String> words = words(3000);
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(40, size); i > 0; i--) {
                sum = sum * 31 + count(words, 20_000, i);
                sum = sum * 31 + numbers(20_000, i);
                sum = sum * 31 + group(words);
            }
            return sum;
        });
    }

    private static List<String> words(int count) {
        Harness.Rng rng = new Harness.Rng(5);
        Set<String> seen = new HashSet<>();
        List<String> words = new ArrayList<>();
        while (words.size() < count) {
            StringBuilder word = new StringBuilder();
            for (int letters = 3 + rng.below(7); letters > 0; letters--) {
                word.append((char) ('a' + rng.below(26)));
            }
            if (seen.add(word.toString())) {
                words.add(word.toString());
            }
        }
        return words;
    }

    /** Counts words that come up at random, some of them built anew each time. */
    private static long count(List<String> words, int draws, int seed) {
        Harness.Rng rng = new Harness.Rng(seed);
        Map<String, Integer> counts = new HashMap<>();
        for (int i = 0; i < draws; i++) {
            String word = words.get(Math.min(rng.below(words.size()), rng.below(words.size())));
            if ((i & 3) == 0) {
                word = word.substring(0, 3);
            }
            counts.merge(word, 1, Integer::sum);
        }
        long sum = counts.size();
        for (Map.Entry<String, Integer> entry : counts.entrySet()) {
            sum += (long) entry.getKey().hashCode() * entry.getValue();
        }
        return sum;
    }

    /** A map from boxed number to boxed number: put, get, remove. */
    private static long numbers(int steps, int seed) {
        Harness.Rng rng = new Harness.Rng(seed + 1000);
        Map<Integer, Long> map = new HashMap<>();
        long sum = 0;
        for (int i = 0; i < steps; i++) {
            int key = rng.below(8000) - 4000;
            switch (i & 3) {
                case 0, 1 -> map.put(key, (long) i * key);
                case 2 -> sum += map.getOrDefault(key, -1L);
                default -> {
                    Long removed = map.remove(key);
                    sum += removed == null ? 1 : removed;
                }
            }
        }
        for (int key : map.keySet()) {
            sum += key;
        }
        return sum * 31 + map.size();
    }

    /** Groups words by their first letters, in order. */
    private static long group(List<String> words) {
        Map<String, List<String>> groups = new TreeMap<>();
        for (String word : words) {
            groups.computeIfAbsent(word.substring(0, 2), key -> new ArrayList<>()).add(word);
        }
        long sum = 0;
        for (List<String> group : groups.values()) {
            sum = sum * 31 + group.size() + group.get(0).charAt(2);
        }
        return sum;
    }
}
