public class Synchronised {
    private int count;
    private static int total;

    synchronized void add() {
        count++;
    }

    static synchronized void addTotal() {
        total++;
    }

    synchronized int nested(int n) {
        synchronized (this) {
            return n == 0 ? count : nested(n - 1);
        }
    }

    synchronized void failing() {
        throw new RuntimeException("in monitor");
    }

    public static void main(String[] args) {
        Synchronised s = new Synchronised();
        for (int i = 0; i < 1000; i++) {
            s.add();
            addTotal();
        }
        System.out.println(s.nested(50) + " " + total);
        try {
            s.failing();
        } catch (RuntimeException e) {
            System.out.println(e.getMessage() + " " + Thread.holdsLock(s));
        }
        synchronized (s) {
            System.out.println(Thread.holdsLock(s));
            synchronized (Synchronised.class) {
                System.out.println(Thread.holdsLock(Synchronised.class));
            }
            System.out.println(Thread.holdsLock(Synchronised.class));
        }
        System.out.println(Thread.holdsLock(s));
        Object lock = new Object();
        int hash = lock.hashCode();
        synchronized (lock) {
            System.out.println(hash == lock.hashCode());
            try {
                synchronized (new Object()) {
                    throw new IllegalStateException("escape");
                }
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage());
            }
        }
        System.out.println(hash == System.identityHashCode(lock));
        int[] array = new int[1];
        synchronized (array) {
            array[0] = 3;
        }
        System.out.println(array[0]);
    }
}
