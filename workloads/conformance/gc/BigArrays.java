// vm: -Xmx128m
public class BigArrays {
    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 30; i++) {
            byte[] big = new byte[5_000_000 + i * 1000];
            big[big.length - 1] = (byte) i;
            big[big.length / 2] = 3;
            sum += big[big.length - 1] + big[big.length / 2] + big[0];
        }
        System.out.println(sum);
        Object[] keep = new Object[20];
        for (int i = 0; i < 60; i++) {
            long[] longs = new long[100_000 + i];
            longs[longs.length - 1] = i;
            keep[i % 20] = longs;
        }
        sum = 0;
        for (Object o : keep) {
            long[] l = (long[]) o;
            sum += l[l.length - 1] * l.length;
        }
        System.out.println(sum);
        Object[] references = new Object[300_000];
        for (int i = 0; i < references.length; i += 1000) {
            references[i] = new int[] {i};
        }
        System.gc();
        sum = 0;
        for (Object o : references) {
            if (o != null) {
                sum += ((int[]) o)[0];
            }
        }
        System.out.println(sum);
        Object[] copy = references.clone();
        System.arraycopy(references, 1000, references, 0, 299_000);
        System.gc();
        System.out.println(((int[]) references[0])[0] + " " + ((int[]) copy[0])[0] + " " + ((int[]) references[298_000])[0]);
        keep = null;
        int[][] grid = new int[500][500];
        grid[499][499] = 9;
        System.gc();
        System.out.println(grid[499][499] + grid[0][0]);
    }
}
