// vm: -Xbatch -XX:CompileThreshold=200
/** Copies of arrays that fail after some elements: values that were read from the target before are not reused. */
public class FailedCopies {
    static int before(Object[] from, Integer[] to) {
        Integer first = null;
        try {
            first = to[0];
            System.arraycopy(from, 0, to, 0, from.length);
        } catch (ArrayStoreException e) {
            return first * 100 + to[0] * 10 + to[1];
        }
        return first;
    }

    static int outside(Object[] from, Integer[] to, int at) {
        int first = to[0];
        try {
            System.arraycopy(from, at, to, at, 2);
        } catch (ArrayIndexOutOfBoundsException e) {
            return -first;
        }
        return first;
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 3000; i++) {
            sum = sum * 31 + before(new Object[] {7, "text"}, new Integer[] {1, 2});
            sum = sum * 31 + before(new Object[] {7, null}, new Integer[] {1, 2});
            sum = sum * 31 + outside(new Object[] {7, 8, 9}, new Integer[] {1, 2, 3}, i % 3);
        }
        System.out.println(sum);
    }
}
