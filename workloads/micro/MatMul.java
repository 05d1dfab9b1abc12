/** Floating point: the product of two square matrices. Argument: their size (default 200). */
public class MatMul {
    public static void main(String[] args) {
        int n = args.length > 0 ? Integer.parseInt(args[0]) : 200;
        double[][] a = new double[n][n];
        double[][] b = new double[n][n];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                a[i][j] = i * 0.5 + j;
                b[i][j] = i - j * 0.25;
            }
        }
        double[][] c = new double[n][n];
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < n; j++) {
                double sum = 0;
                for (int k = 0; k < n; k++) {
                    sum += a[i][k] * b[k][j];
                }
                c[i][j] = sum;
            }
        }
        double trace = 0;
        for (int i = 0; i < n; i++) {
            trace += c[i][i];
        }
        System.out.println(trace);
    }
}
