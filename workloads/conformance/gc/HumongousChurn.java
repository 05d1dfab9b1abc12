// vm: -Xmx96m
public class HumongousChurn {
    public static void main(String[] args) {
        byte[][] slots = new byte[3][];
        long sum = 0;
        for (int i = 0; i < 60; i++) {
            slots[i % 3] = new byte[(i % 7 + 1) * 1_500_000];
            slots[i % 3][i * 1000] = (byte) i;
            for (byte[] s : slots) {
                if (s != null) {
                    sum += s.length % 1009;
                }
            }
        }
        System.out.println(sum);
        Object[] holder = new Object[200_000];
        for (int i = 0; i < holder.length; i++) {
            holder[i] = i % 100 == 0 ? new Object[] {holder, i} : "x";
        }
        System.gc();
        int n = 0;
        for (int i = 0; i < holder.length; i += 100) {
            if (((Object[]) holder[i])[0] == holder && (Integer) ((Object[]) holder[i])[1] == i) {
                n++;
            }
        }
        System.out.println(n);
    }
}
