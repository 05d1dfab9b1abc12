package suite;

/** All orders of a few things, by recursion with swaps, with a fold over each. */
public class Permutations {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(40, size); i > 0; i--) {
                Permuter permuter = new Permuter(8);
                permuter.permute(0);
                sum = sum * 31 + permuter.count * 1009L + permuter.flips;
            }
            return sum;
        });
    }

    static final class Permuter {
        private final int[] order;
        private final int[] copy;
        private int count;
        private long flips;

        Permuter(int things) {
            order = new int[things];
            copy = new int[things];
            for (int i = 0; i < things; i++) {
                order[i] = i;
            }
        }

        void permute(int fixed) {
            if (fixed == order.length) {
                count++;
                flips += flips();
                return;
            }
            for (int i = fixed; i < order.length; i++) {
                swap(order, fixed, i);
                permute(fixed + 1);
                swap(order, fixed, i);
            }
        }

        /** How often the front can be reversed, as long as the first thing says, until 0 comes first. */
        private int flips() {
            System.arraycopy(order, 0, copy, 0, order.length);
            int done = 0;
            while (copy[0] != 0) {
                for (int low = 0, high = copy[0]; low < high; low++, high--) {
                    swap(copy, low, high);
                }
                done++;
            }
            return done;
        }

        private static void swap(int[] array, int a, int b) {
            int kept = array[a];
            array[a] = array[b];
            array[b] = kept;
        }
    }
}
