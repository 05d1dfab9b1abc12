package dataset;

import harness.Checksum;
import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.util.Locale;

/**
 * Linear regression by gradient descent. The samples stay in the heap; each round computes every sample's gradient
 * as an object of its own and adds them up. The result must be near the weights that the samples were made from.
 *
 * <p>Arguments: samples, dimensions, rounds, partitions, threads.
 */
public final class Regression {
    private Regression() {}

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "samples dimensions rounds partitions threads", 2000, 8, 20, 4, 2);
        int samples = n[0];
        int dimensions = n[1];
        double[] truth = new double[dimensions];
        for (int i = 0; i < dimensions; i++) {
            truth[i] = i % 2 == 0 ? i + 1 : -i;
        }
        long start = System.nanoTime();
        try (Engine engine = new Engine(n[3], n[4])) {
            Dataset<Point> points = engine.generate(partition -> {
                Rng rng = new Rng(400 + partition);
                int count = samples / engine.partitions() + (partition < samples % engine.partitions() ? 1 : 0);
                return new Flow<Point>() {
                    private int left = count;

                    @Override
                    protected Point advance() {
                        return left-- > 0 ? sample(truth, rng) : null;
                    }
                };
            }).keep();
            Figures.result("samples", points.count());
            Figures.metric("load_s", Figures.seconds(start));
            long rounds = System.nanoTime();
            double[] weights = new double[dimensions];
            // The noise's mean square is 1/9, so this step makes the error 2/3 smaller in each round.
            double step = 6.0 / samples;
            for (int round = 0; round < n[2]; round++) {
                double[] now = weights;
                Point gradient = points
                    .map(point -> point.times(point.dot(now) - point.label()))
                    .aggregate(Point.zero(dimensions), Point::plus, Point::plus);
                weights = new Point(weights, 0).plus(gradient.times(-step)).vector();
                points.lose(round % engine.partitions());
            }
            double loss = points.aggregate(0.0, (sum, point) -> sum + error(point, truth), Double::sum);
            Figures.peak();
            Figures.metric("rounds_s", Figures.seconds(rounds));
            Checksum checksum = new Checksum();
            double worst = 0;
            for (int i = 0; i < dimensions; i++) {
                checksum.add(weights[i]);
                worst = Math.max(worst, Math.abs(weights[i] - truth[i]));
            }
            Figures.result("weights", checksum);
            Figures.result("loss", String.format(Locale.ROOT, "%.6f", loss));
            Figures.result("worst", String.format(Locale.ROOT, "%.9f", worst));
            Figures.result("work", engine.work());
        }
    }

    private static double error(Point point, double[] weights) {
        double difference = point.dot(weights) - point.label();
        return difference * difference;
    }

    private static Point sample(double[] truth, Rng rng) {
        double[] vector = new double[truth.length];
        double label = 0.1 * Point.noise(rng);
        for (int i = 0; i < vector.length; i++) {
            vector[i] = Point.noise(rng);
            label += vector[i] * truth[i];
        }
        return new Point(vector, label);
    }
}
