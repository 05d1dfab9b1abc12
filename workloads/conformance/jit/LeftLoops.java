// vm: -XX:CompileThreshold=100
/** Loops that compiled code enters and exits again and again, in one call. */
public class LeftLoops {
    static final RuntimeException ODD = new RuntimeException("odd", null, false, false) { };

    static int odd(int i) {
        if ((i & 127) == 1) {
            throw ODD;
        }
        return i;
    }

    static int inner(int i, Object lock) {
        synchronized (lock) {
            return odd(i) + 1;
        }
    }

    static String catching(int n) {
        Object lock = new Object();
        long sum = 0;
        int caught = 0;
        for (int i = 0; i < n; i++) {
            try {
                sum += inner(i, lock);
            } catch (RuntimeException e) {
                caught++;
                if (Thread.holdsLock(lock)) {
                    throw new AssertionError();
                }
            }
        }
        return sum + " " + caught;
    }

    synchronized String locked(int n) {
        int[] array = new int[100];
        int caught = 0;
        int i = 0;
        do {
            try {
                array[i % 128]++;
            } catch (ArrayIndexOutOfBoundsException e) {
                caught++;
                if (!Thread.holdsLock(this)) {
                    throw new AssertionError();
                }
            }
        } while (++i < n);
        return array[99] + " " + caught;
    }

    static int passing(int n) {
        int sum = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
            if (i == n - 1) {
                sum += odd(129);
            }
        }
        return sum;
    }

    static long allocating(int n) {
        // An exit with references in locals and on the operand stack.
        long sum = 0;
        String kept = "k";
        for (int i = 0; i < n; i++) {
            Object o = i % 200 == 0 ? (Object) kept : (Object) i;
            try {
                sum += kept.length() + (Integer) o;
            } catch (ClassCastException e) {
                sum += o.hashCode() & 7;
                kept = i % 1000 == 0 ? new String("k" + i) : kept;
            }
        }
        return sum;
    }

    public static void main(String[] args) {
        System.out.println(catching(600_000));
        LeftLoops object = new LeftLoops();
        System.out.println(object.locked(600_000) + " " + Thread.holdsLock(object));
        for (int i = 0; i < 5; i++) {
            try {
                System.out.println(passing(100_000));
            } catch (RuntimeException e) {
                System.out.println(e.getMessage());
            }
        }
        System.out.println(allocating(400_000));
        for (int i = 0; i < 3; i++) {
            // Rounds that print exit the loop of main as well.
            long sum = 0;
            for (int j = 0; j < 50_000; j++) {
                sum += j ^ i;
            }
            System.out.println("round " + i + " " + sum);
        }
    }
}
