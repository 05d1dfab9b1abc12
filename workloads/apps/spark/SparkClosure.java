import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.storage.StorageLevel;
import scala.Tuple2;

/**
 * The transitive closure of a generated graph on Apache Spark in local mode: paths grow by an edge in each round, until
 * no new pair is found. All pairs stay in memory.
 *
 * <p>Arguments: vertices, edges, partitions, threads.
 */
public class SparkClosure {
    public static void main(String[] args) {
        int vertices = args.length > 0 ? Integer.parseInt(args[0]) : 60;
        int count = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int partitions = args.length > 2 ? Integer.parseInt(args[2]) : 4;
        int threads = args.length > 3 ? Integer.parseInt(args[3]) : 2;
        long start = System.nanoTime();
        try (JavaSparkContext context = new JavaSparkContext(LocalSpark.configuration("Closure", threads))) {
            Figures.metric("start_s", Figures.seconds(start));
            start = System.nanoTime();
            JavaPairRDD<Integer, Integer> closure =
                context.parallelizePairs(edges(vertices, count), partitions).persist(StorageLevel.MEMORY_ONLY());
            // The edges the other way around: a path grows at its beginning, where the join has its key.
            JavaPairRDD<Integer, Integer> edges =
                closure.mapToPair(Tuple2::swap).partitionBy(new org.apache.spark.HashPartitioner(partitions))
                    .persist(StorageLevel.MEMORY_ONLY());
            long before;
            long pairs = closure.count();
            int rounds = 0;
            do {
                before = pairs;
                JavaPairRDD<Integer, Integer> longer =
                    closure.join(edges).mapToPair(path -> new Tuple2<>(path._2()._2(), path._2()._1()));
                JavaPairRDD<Integer, Integer> next =
                    closure.union(longer).distinct(partitions).persist(StorageLevel.MEMORY_ONLY());
                pairs = next.count();
                closure.unpersist();
                closure = next;
                rounds++;
                Figures.result("round " + rounds, pairs + " pairs");
            } while (pairs != before);
            Figures.metric("rounds_s", Figures.seconds(start));
            Checksum checksum = new Checksum();
            for (Tuple2<Integer, Integer> pair : closure.sortByKey(true, 1).groupByKey().mapValues(ends -> {
                List<Integer> sorted = new ArrayList<>();
                ends.forEach(sorted::add);
                Collections.sort(sorted);
                return sorted.hashCode();
            }).sortByKey().collect()) {
                checksum.add(pair._1()).add(pair._2());
            }
            Figures.result("closure", checksum);
        }
    }

    private static List<Tuple2<Integer, Integer>> edges(int vertices, int count) {
        Rng rng = new Rng(9);
        Set<Tuple2<Integer, Integer>> edges = new HashSet<>();
        List<Tuple2<Integer, Integer>> list = new ArrayList<>();
        while (list.size() < count) {
            int from = rng.below(vertices);
            Tuple2<Integer, Integer> edge = new Tuple2<>(from, rng.below(vertices));
            if (edge._2() != from && edges.add(edge)) {
                list.add(edge);
            }
        }
        return list;
    }
}
