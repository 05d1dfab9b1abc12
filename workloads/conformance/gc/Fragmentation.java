// vm: -Xmx48m
import java.util.Random;

// zeal
public class Fragmentation {
    public static void main(String[] args) {
        Random random = new Random(3);
        byte[][] objects = new byte[20_000][];
        int[] sizes = {16, 100, 600, 1500};
        long sum = 0;
        for (int round = 0; round < 4; round++) {
            for (int i = 0; i < objects.length; i++) {
                if (objects[i] == null) {
                    objects[i] = new byte[sizes[random.nextInt(sizes.length)] + random.nextInt(16)];
                    objects[i][0] = (byte) i;
                }
            }
            for (int i = 0; i < objects.length; i++) {
                if (random.nextInt(8) != 0) {
                    objects[i] = null;
                }
            }
            byte[] large = new byte[16_000_000];
            large[12_345_678] = 1;
            sum += large[12_345_678];
        }
        int left = 0;
        for (int i = 0; i < objects.length; i++) {
            if (objects[i] != null) {
                left++;
                if (objects[i][0] != (byte) i) {
                    System.out.println("corrupted " + i);
                }
            }
        }
        System.out.println(sum + " " + left);
    }
}
