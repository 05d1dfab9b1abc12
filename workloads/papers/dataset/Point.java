package dataset;

import harness.Rng;

/** A vector and a number that belongs to it. Nothing of it changes; each operation gives a new one. */
public record Point(double[] vector, double label) {
    static Point zero(int dimensions) {
        return new Point(new double[dimensions], 0);
    }

    Point plus(Point other) {
        double[] sum = vector.clone();
        for (int i = 0; i < sum.length; i++) {
            sum[i] += other.vector[i];
        }
        return new Point(sum, label + other.label);
    }

    Point times(double factor) {
        double[] product = vector.clone();
        for (int i = 0; i < product.length; i++) {
            product[i] *= factor;
        }
        return new Point(product, label * factor);
    }

    double dot(double[] other) {
        double sum = 0;
        for (int i = 0; i < vector.length; i++) {
            sum += vector[i] * other[i];
        }
        return sum;
    }

    double distance(double[] other) {
        double sum = 0;
        for (int i = 0; i < vector.length; i++) {
            double difference = vector[i] - other[i];
            sum += difference * difference;
        }
        return sum;
    }

    /** A number between -1 and 1, near 0 more often. */
    static double noise(Rng rng) {
        return ((rng.next() >> 8) + (rng.next() >> 8) + (rng.next() >> 8)) * (0x1p-23 / 3);
    }
}
