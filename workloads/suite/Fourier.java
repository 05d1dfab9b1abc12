package suite;

/** Fast Fourier transform and its inverse, a product of matrices, and a solver of linear equations. */
public class Fourier {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(28, size); i > 0; i--) {
                sum = sum * 31 + transform(1 << 14);
                sum = sum * 31 + multiply(120);
                sum = sum * 31 + solve(120);
            }
            return sum;
        });
    }

    /** Removes the high half of a signal's spectrum. */
    private static long transform(int length) {
        Harness.Rng rng = new Harness.Rng(length);
        double[] re = new double[length];
        double[] im = new double[length];
        for (int i = 0; i < length; i++) {
            re[i] = rng.fraction() - 0.5;
        }
        fft(re, im, false);
        for (int i = length / 4; i < 3 * length / 4; i++) {
            re[i] = 0;
            im[i] = 0;
        }
        fft(re, im, true);
        long sum = 0;
        for (int i = 0; i < length; i += 97) {
            sum = sum * 31 + Double.doubleToLongBits(re[i]) + Math.round(im[i] * 1e6);
        }
        return sum;
    }

    private static void fft(double[] re, double[] im, boolean back) {
        int n = re.length;
        for (int i = 1, j = 0; i < n; i++) {
            int bit = n >> 1;
            for (; (j & bit) != 0; bit >>= 1) {
                j ^= bit;
            }
            j ^= bit;
            if (i < j) {
                double kept = re[i];
                re[i] = re[j];
                re[j] = kept;
                kept = im[i];
                im[i] = im[j];
                im[j] = kept;
            }
        }
        for (int width = 2; width <= n; width <<= 1) {
            double angle = (back ? -2 : 2) * Math.PI / width;
            // StrictMath: its last bit is the same on every VM.
            double stepRe = StrictMath.cos(angle);
            double stepIm = StrictMath.sin(angle);
            int half = width >> 1;
            for (int start = 0; start < n; start += width) {
                double turnRe = 1;
                double turnIm = 0;
                for (int k = start; k < start + half; k++) {
                    double oddRe = re[k + half] * turnRe - im[k + half] * turnIm;
                    double oddIm = re[k + half] * turnIm + im[k + half] * turnRe;
                    re[k + half] = re[k] - oddRe;
                    im[k + half] = im[k] - oddIm;
                    re[k] += oddRe;
                    im[k] += oddIm;
                    double nextRe = turnRe * stepRe - turnIm * stepIm;
                    turnIm = turnRe * stepIm + turnIm * stepRe;
                    turnRe = nextRe;
                }
            }
        }
        if (back) {
            for (int i = 0; i < n; i++) {
                re[i] /= n;
                im[i] /= n;
            }
        }
    }

    private static double[][] matrix(int side, int seed) {
        Harness.Rng rng = new Harness.Rng(seed);
        double[][] rows = new double[side][side];
        for (double[] row : rows) {
            for (int i = 0; i < side; i++) {
                row[i] = rng.fraction() * 2 - 1;
            }
        }
        return rows;
    }

    private static long multiply(int side) {
        double[][] a = matrix(side, 1);
        double[][] b = matrix(side, 2);
        double[][] c = new double[side][side];
        for (int i = 0; i < side; i++) {
            for (int j = 0; j < side; j++) {
                double sum = 0;
                for (int k = 0; k < side; k++) {
                    sum += a[i][k] * b[k][j];
                }
                c[i][j] = sum;
            }
        }
        long sum = 0;
        for (int i = 0; i < side; i++) {
            sum = sum * 31 + Double.doubleToLongBits(c[i][side - 1 - i]);
        }
        return sum;
    }

    /** Elimination with the largest pivot of each column. */
    private static long solve(int side) {
        double[][] a = matrix(side, 3);
        double[] x = new double[side];
        for (int i = 0; i < side; i++) {
            x[i] = i + 1;
        }
        for (int column = 0; column < side; column++) {
            int pivot = column;
            for (int row = column + 1; row < side; row++) {
                if (Math.abs(a[row][column]) > Math.abs(a[pivot][column])) {
                    pivot = row;
                }
            }
            double[] kept = a[pivot];
            a[pivot] = a[column];
            a[column] = kept;
            double value = x[pivot];
            x[pivot] = x[column];
            x[column] = value;
            for (int row = column + 1; row < side; row++) {
                double factor = a[row][column] / kept[column];
                for (int i = column; i < side; i++) {
                    a[row][i] -= factor * kept[i];
                }
                x[row] -= factor * x[column];
            }
        }
        long sum = 0;
        for (int row = side - 1; row >= 0; row--) {
            for (int i = row + 1; i < side; i++) {
                x[row] -= a[row][i] * x[i];
            }
            x[row] /= a[row][row];
            sum = sum * 31 + Double.doubleToLongBits(x[row]);
        }
        return sum;
    }
}
