// vm: -Xmx40m -Xms8m
public class HeapBounds {
    public static void main(String[] args) {
        Runtime r = Runtime.getRuntime();
        long max = r.maxMemory();
        System.out.println((max > 30L << 20) + " " + (max <= 48L << 20));
        System.out.println((r.totalMemory() <= max) + " " + (r.freeMemory() <= r.totalMemory()) + " " + (r.freeMemory() > 0));
        long sum = 0;
        for (int i = 0; i < 400; i++) {
            byte[] b = new byte[1 << 20];
            b[i] = 1;
            sum += b[i];
        }
        System.out.println(sum + " " + (r.totalMemory() <= max));
        byte[][] live = new byte[200][];
        for (int i = 0; i < live.length; i++) {
            live[i] = new byte[100_000];
        }
        System.gc();
        long used = r.totalMemory() - r.freeMemory();
        System.out.println((used >= 20_000_000) + " " + live.length);
        live = null;
        System.gc();
        System.out.println(r.totalMemory() - r.freeMemory() < 20_000_000);
    }
}
