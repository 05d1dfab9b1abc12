// vm: -Xmx32m -Xbatch -XX:CompileThreshold=200
import java.util.Arrays;
import java.util.concurrent.locks.LockSupport;

/** Long copies whose elements are checked one by one while another thread has the heap collected all the time. */
public class CheckedCopies {
    static volatile boolean isOver;

    static int copy(Object[] from, String[] to, int at) {
        try {
            System.arraycopy(from, at, to, 1, from.length - at);
            return 0;
        } catch (ArrayStoreException e) {
            return 1;
        }
    }

    static int right(Object[] from, String[] to, int at, int end) {
        int right = 0;
        for (int i = at; i < end; i++) {
            right += to[1 + i - at] == from[i] ? 1 : 0;
        }
        return right;
    }

    public static void main(String[] args) throws InterruptedException {
        Thread other = new Thread(() -> {
            while (!isOver) {
                System.gc();
                LockSupport.parkNanos(2_000_000);
            }
        });
        other.start();
        Object[] from = new Object[5000];
        long sum = 0;
        for (int round = 0; round < 1000; round++) {
            Arrays.setAll(from, i -> i % 7 == 0 ? null : "text " + i);
            String[] to = new String[from.length + 1];
            boolean fails = round % 3 == 0;
            if (fails) {
                from[4000] = round;
            }
            sum = sum * 31 + copy(from, to, round % 10);
            sum = sum * 31 + right(from, to, round % 10, fails ? 4000 : from.length);
            sum = sum * 31 + (to[0] == null && (!fails || to[4001 - round % 10] == null) ? 1 : 0);
        }
        isOver = true;
        other.join();
        System.out.println(sum);
    }
}
