import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * PageRank on Apache Spark in local mode: the pages' links stay in memory as objects, each round joins them with the
 * ranks and sums up what the pages give to each other.
 *
 * <p>Arguments: pages, links of each, rounds, partitions, threads. Ranks are whole numbers (billionths), so sums do not
 * depend on the order in which Spark's tasks happen to run.
 */
public class SparkPageRank {
    private static final long ONE = 1_000_000_000L;

    public static void main(String[] args) {
        int pages = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        int degree = args.length > 1 ? Integer.parseInt(args[1]) : 8;
        int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 3;
        int partitions = args.length > 3 ? Integer.parseInt(args[3]) : 4;
        int threads = args.length > 4 ? Integer.parseInt(args[4]) : 2;
        long start = System.nanoTime();
        SparkConf conf = LocalSpark.configuration("PageRank", threads);
        try (JavaSparkContext context = new JavaSparkContext(conf)) {
            Figures.metric("start_s", Figures.seconds(start));
            List<Integer> parts = new ArrayList<>();
            for (int i = 0; i < partitions; i++) {
                parts.add(i);
            }
            JavaPairRDD<Integer, Integer> generated = context.parallelize(parts, partitions)
                .flatMapToPair(part -> links(part, partitions, pages, degree));
            JavaPairRDD<Integer, Iterable<Integer>> links =
                generated.distinct().groupByKey(partitions).persist(StorageLevel.MEMORY_ONLY());
            start = System.nanoTime();
            Figures.result("pages", links.count());
            Figures.metric("links_s", Figures.seconds(start));
            JavaPairRDD<Integer, Long> ranks = links.mapValues(page -> ONE);
            start = System.nanoTime();
            for (int round = 0; round < rounds; round++) {
                JavaPairRDD<Integer, Long> given = links.join(ranks).values().flatMapToPair(SparkPageRank::give);
                ranks = given.reduceByKey(Long::sum).mapValues(sum -> ONE * 15 / 100 + sum / 100 * 85);
            }
            JavaRDD<Tuple2<Integer, Long>> all = ranks.map(rank -> rank);
            Checksum checksum = new Checksum();
            long total = 0;
            List<Tuple2<Integer, Long>> sorted = ranks.sortByKey(true, partitions).collect();
            for (Tuple2<Integer, Long> rank : sorted) {
                checksum.add(rank._1()).add(rank._2());
                total += rank._2();
            }
            Figures.metric("rounds_s", Figures.seconds(start));
            Figures.result("ranks", sorted.size() + " sum " + total + " " + checksum);
            List<Tuple2<Long, Integer>> top =
                all.mapToPair(rank -> new Tuple2<>(rank._2() * pages + rank._1(), rank._1())).sortByKey(false).take(5);
            for (Tuple2<Long, Integer> page : top) {
                Figures.result("top", page._2() + " with " + page._1() / pages);
            }
        }
    }

    private static Iterator<Tuple2<Integer, Integer>> links(int part, int parts, int pages, int degree) {
        List<Tuple2<Integer, Integer>> links = new ArrayList<>();
        for (int page = part; page < pages; page += parts) {
            Rng rng = new Rng(page);
            for (int i = 0; i < degree; i++) {
                links.add(new Tuple2<>(page, rng.skewed(pages)));
            }
        }
        return links.iterator();
    }

    private static Iterator<Tuple2<Integer, Long>> give(Tuple2<Iterable<Integer>, Long> page) {
        List<Tuple2<Integer, Long>> given = new ArrayList<>();
        int count = 0;
        for (Integer ignored : page._1()) {
            count++;
        }
        for (Integer target : page._1()) {
            given.add(new Tuple2<>(target, page._2() / count));
        }
        return given.iterator();
    }
}
