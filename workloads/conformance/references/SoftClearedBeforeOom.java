// vm: -Xmx32m
import java.lang.ref.SoftReference;
import java.util.ArrayList;
import java.util.List;

public class SoftClearedBeforeOom {
    public static void main(String[] args) {
        List<SoftReference<byte[]>> cache = new ArrayList<>();
        for (int i = 0; i < 120; i++) {
            cache.add(new SoftReference<>(new byte[1 << 19]));
        }
        int cleared = 0;
        for (SoftReference<byte[]> r : cache) {
            if (r.get() == null) {
                cleared++;
            }
        }
        System.out.println(cleared > 40);
        List<byte[]> hard = new ArrayList<>();
        try {
            while (true) {
                hard.add(new byte[1 << 19]);
            }
        } catch (OutOfMemoryError e) {
            hard = null;
            int left = 0;
            for (SoftReference<byte[]> r : cache) {
                if (r.get() != null) {
                    left++;
                }
            }
            System.out.println("all soft references cleared: " + (left == 0));
        }
    }
}
