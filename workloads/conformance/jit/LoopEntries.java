// vm: -Xbatch -XX:CompileThreshold=200
/**
 * Loops that are entered where less is known than inside: of an object that may be null, right after it was tested, and
 * of one that has the field in question only on one of the ways to the loop. A compiler that hoists loads out of the
 * loop must not load a field where it does not exist.
 */
public class LoopEntries {
    int number = 5;
    final int[] numbers = {1, 2, 3};

    /** Larger than the classes with numbers, and full of values that are no addresses. */
    static class Other {
        long a = 0x123456789abcL;
        long b = ~a;
        long c = a;
    }

    /** The test leads to the loop itself; the call keeps its first round from being laid before it. */
    static int tested(LoopEntries object, int rounds) {
        int sum = 0;
        if (object == null) {
            return -1;
        }
        do {
            sum = Math.max(sum, object.number + rounds);
            rounds--;
        } while (rounds > 0);
        return sum;
    }

    static int backwards(LoopEntries object, int rounds) {
        int sum = 0;
        do {
            if (object != null) {
                do {
                    sum = Math.max(sum, object.number + rounds);
                    rounds--;
                } while (rounds > 3);
            }
            rounds--;
        } while (rounds > 0);
        return sum;
    }

    /** The field exists only behind the cast. */
    static int cast(Object object, int rounds) {
        int sum = object instanceof LoopEntries ? ((LoopEntries) object).numbers.length : 1;
        do {
            sum += new byte[2000].length;
            if (object == null) {
                sum++;
            }
            rounds--;
        } while (rounds > 0);
        return sum;
    }

    static long inLoop(Object object, int rounds) {
        long sum = 0;
        if (object instanceof LoopEntries) {
            sum = ((LoopEntries) object).numbers[0];
        }
        for (int i = 0; i < rounds; i++) {
            sum += new int[100].length;
            if (object instanceof LoopEntries) {
                sum += ((LoopEntries) object).numbers[i % 3];
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        LoopEntries object = new LoopEntries();
        Other other = new Other();
        long sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum = sum * 31 + tested(object, 3) + tested(null, 3);
            sum = sum * 31 + backwards(object, 9) + backwards(null, 9);
            sum = sum * 31 + cast(object, 3) + cast(other, 30) + cast(null, 3);
            sum = sum * 31 + inLoop(object, 3) + inLoop(other, 30) + inLoop("text", 3);
        }
        System.out.println(sum);
    }
}
