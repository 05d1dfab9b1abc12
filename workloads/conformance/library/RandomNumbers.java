import java.util.Arrays;
import java.util.Random;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.random.RandomGenerator;

public class RandomNumbers {
    public static void main(String[] args) {
        Random r = new Random(12345);
        System.out.println(r.nextInt() + " " + r.nextInt(100) + " " + r.nextLong() + " " + r.nextDouble() + " " + r.nextFloat()
            + " " + r.nextBoolean() + " " + r.nextGaussian() + " " + r.nextInt(5, 10));
        byte[] bytes = new byte[7];
        r.nextBytes(bytes);
        System.out.println(Arrays.toString(bytes));
        System.out.println(r.ints(5, 0, 50).boxed().toList() + " " + r.doubles(2).sum() + " " + r.longs(2, 0, 1000).sum());
        SplittableRandom s = new SplittableRandom(99);
        System.out.println(s.nextInt() + " " + s.nextLong() + " " + s.nextDouble() + " " + s.split().nextInt(1000));
        RandomGenerator g = RandomGenerator.of("L64X128MixRandom");
        System.out.println(g.nextInt(10) < 10);
        int[] counts = new int[6];
        Random dice = new Random(7);
        for (int i = 0; i < 6000; i++) {
            counts[dice.nextInt(6)]++;
        }
        System.out.println(Arrays.toString(counts));
        System.out.println(UUID.nameUUIDFromBytes("name".getBytes()) + " " + UUID.fromString("123e4567-e89b-12d3-a456-426614174000").version()
            + " " + UUID.randomUUID().toString().length() + " " + new UUID(1, 2).compareTo(new UUID(1, 3)));
        double m = Math.random();
        System.out.println(m >= 0 && m < 1);
        try {
            r.nextInt(0);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        java.security.SecureRandom secure = new java.security.SecureRandom();
        System.out.println(secure.nextInt(10) >= 0);
    }
}
