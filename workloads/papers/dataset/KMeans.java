package dataset;

import harness.Checksum;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;

/**
 * Finds the centres of clouds of points (Lloyd's algorithm). The points stay in the heap; each round assigns every
 * one to its nearest centre, and averages by a shuffle.
 *
 * <p>Arguments: points, dimensions, centres, rounds, partitions, threads.
 */
public final class KMeans {
    private KMeans() {}

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "points dimensions centres rounds partitions threads", 2000, 8, 4, 4, 4, 2);
        int dimensions = n[1];
        int centres = n[2];
        long start = System.nanoTime();
        try (Engine engine = new Engine(n[4], n[5])) {
            double[][] middles = new double[centres][dimensions];
            Rng places = new Rng(300);
            for (double[] middle : middles) {
                for (int i = 0; i < dimensions; i++) {
                    middle[i] = places.between(-20, 20);
                }
            }
            Dataset<Point> points = engine.generate(partition -> {
                Rng rng = new Rng(301 + partition);
                int count = n[0] / engine.partitions() + (partition < n[0] % engine.partitions() ? 1 : 0);
                return new Flow<Point>() {
                    private int left = count;

                    @Override
                    protected Point advance() {
                        return left-- > 0 ? near(middles[rng.below(centres)], rng) : null;
                    }
                };
            }).keep();
            Figures.result("points", points.count());
            Figures.metric("load_s", Figures.seconds(start));
            long rounds = System.nanoTime();
            List<double[]> current = new ArrayList<>();
            for (Point point : points.take(centres)) {
                current.add(point.vector());
            }
            for (int round = 0; round < n[3]; round++) {
                current = improved(points, current);
                points.lose(round % engine.partitions());
            }
            List<double[]> last = current;
            double cost = points.aggregate(0.0, (sum, point) -> sum + point.distance(last.get(nearest(point, last))),
                Double::sum);
            Figures.peak();
            Figures.metric("rounds_s", Figures.seconds(rounds));
            Checksum checksum = new Checksum();
            for (double[] centre : current) {
                for (double coordinate : centre) {
                    checksum.add(coordinate);
                }
            }
            Figures.result("centres", checksum);
            Figures.result("cost", String.format(Locale.ROOT, "%.6f", cost));
            Figures.result("work", engine.work());
        }
    }

    private static List<double[]> improved(Dataset<Point> points, List<double[]> centres) throws InterruptedException {
        Keyed<Integer, Pair<Point, Long>> sums = points
            .mapToPairs(point -> new Pair<>(nearest(point, centres), new Pair<>(point, 1L)));
        List<double[]> better = new ArrayList<>(centres);
        for (Pair<Integer, Pair<Point, Long>> sum : sums
                .reduceByKey((a, b) -> new Pair<>(a.key().plus(b.key()), a.value() + b.value()))
                .collect()) {
            better.set(sum.key(), sum.value().key().times(1.0 / sum.value().value()).vector());
        }
        return better;
    }

    private static int nearest(Point point, List<double[]> centres) {
        int best = 0;
        double least = Double.MAX_VALUE;
        for (int i = 0; i < centres.size(); i++) {
            double distance = point.distance(centres.get(i));
            if (distance < least) {
                least = distance;
                best = i;
            }
        }
        return best;
    }

    private static Point near(double[] middle, Rng rng) {
        double[] vector = middle.clone();
        for (int i = 0; i < vector.length; i++) {
            vector[i] += 6 * Point.noise(rng);
        }
        return new Point(vector, 0);
    }
}
