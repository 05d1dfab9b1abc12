package dataset;

import harness.Checksum;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;

/**
 * PageRank over lines of text that name a page and one that it links to. The links of all pages stay in the heap as
 * objects, and each round joins them with the ranks and shuffles what pages give each other. A partition of the links
 * gets lost now and then.
 *
 * <p>Arguments: pages, links of a page on average, rounds, partitions, threads.
 */
public final class PageRank {
    private static final double DAMPING = 0.85;

    private PageRank() {}

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "pages links rounds partitions threads", 1000, 5, 3, 4, 2);
        int pages = n[0];
        int linksEach = n[1];
        long start = System.nanoTime();
        try (Engine engine = new Engine(n[3], n[4])) {
            Keyed<String, List<String>> links =
                engine.generate(partition -> lines(pages, linksEach, partition, engine.partitions()))
                    .distinct()
                    .mapToPairs(line -> {
                        int space = line.indexOf(' ');
                        return new Pair<>(line.substring(0, space), line.substring(space + 1));
                    })
                    .groupByKey()
                    .keep();
            Figures.result("pages with links", links.count());
            Figures.metric("load_s", Figures.seconds(start));
            long rounds = System.nanoTime();
            Keyed<String, Double> ranks = links.mapValues(targets -> 1.0);
            for (int round = 0; round < n[2]; round++) {
                Keyed<String, Double> given = links.join(ranks).flatMapToPairs(entry -> shares(entry.value()));
                ranks = given.reduceByKey(Double::sum).mapValues(sum -> 1 - DAMPING + DAMPING * sum).keep();
                if (round % 3 == 2) {
                    ranks.checkpoint();
                    links.lose(round % engine.partitions());
                }
            }
            List<Pair<String, Double>> all = ranks.collect();
            Figures.peak();
            Figures.metric("rounds_s", Figures.seconds(rounds));
            report(all);
            Figures.result("work", engine.work());
        }
    }

    private static Iterator<Pair<String, Double>> shares(Pair<List<String>, Double> linksAndRank) {
        double share = linksAndRank.value() / linksAndRank.key().size();
        return Flow.map(linksAndRank.key().iterator(), target -> new Pair<>(target, share));
    }

    /** A part of the lines; some pages are linked to by very many, and some lines come twice. */
    private static Iterator<String> lines(int pages, int linksEach, int partition, int partitions) {
        Rng rng = new Rng(100 + partition);
        List<String> lines = new ArrayList<>();
        for (int page = partition; page < pages; page += partitions) {
            int count = rng.between(1, 2 * linksEach - 1);
            for (int i = 0; i < count; i++) {
                lines.add("page/" + page + " page/" + rng.skewed(pages));
            }
        }
        return lines.iterator();
    }

    private static void report(List<Pair<String, Double>> ranks) {
        Checksum checksum = new Checksum();
        double sum = 0;
        for (Pair<String, Double> rank : ranks) {
            checksum.add(rank.key()).add(rank.value());
            sum += rank.value();
        }
        Figures.result("ranks", ranks.size() + " " + checksum);
        Figures.result("sum", String.format(Locale.ROOT, "%.6f", sum));
        ranks.sort(Comparator.comparing((Pair<String, Double> rank) -> -rank.value()).thenComparing(Pair::key));
        for (Pair<String, Double> rank : ranks.subList(0, Math.min(5, ranks.size()))) {
            Figures.result(rank.key(), String.format(Locale.ROOT, "%.9f", rank.value()));
        }
    }
}
