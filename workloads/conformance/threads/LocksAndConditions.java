import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import java.util.concurrent.locks.StampedLock;

public class LocksAndConditions {
    static int value;

    public static void main(String[] args) throws Exception {
        ReentrantLock lock = new ReentrantLock(true);
        Condition changed = lock.newCondition();
        Thread consumer = new Thread(() -> {
            lock.lock();
            try {
                while (value < 10) {
                    changed.await();
                }
                System.out.println("saw " + value);
            } catch (InterruptedException e) {
                throw new AssertionError();
            } finally {
                lock.unlock();
            }
        });
        consumer.start();
        for (int i = 0; i < 10; i++) {
            lock.lock();
            try {
                value++;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
        consumer.join();
        lock.lock();
        lock.lock();
        System.out.println(lock.getHoldCount() + " " + lock.isHeldByCurrentThread() + " " + lock.isFair());
        System.out.println(changed.await(5, TimeUnit.MILLISECONDS) + " " + (changed.awaitNanos(1000) <= 0) + " " + lock.getHoldCount());
        Thread prober = new Thread(() -> {
            try {
                System.out.println(lock.tryLock() + " " + lock.tryLock(5, TimeUnit.MILLISECONDS));
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
        });
        prober.start();
        prober.join();
        lock.unlock();
        lock.unlock();
        try {
            lock.unlock();
        } catch (IllegalMonitorStateException e) {
            System.out.println("not owner");
        }
        ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
        int[] data = new int[1];
        Thread[] threads = new Thread[6];
        int[] bad = new int[1];
        for (int t = 0; t < threads.length; t++) {
            boolean writer = t % 3 == 0;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 200; i++) {
                    if (writer) {
                        rw.writeLock().lock();
                        data[0]++;
                        data[0]++;
                        rw.writeLock().unlock();
                    } else {
                        rw.readLock().lock();
                        if (data[0] % 2 != 0) {
                            bad[0]++;
                        }
                        rw.readLock().unlock();
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(data[0] + " " + bad[0] + " " + rw.getReadLockCount());
        StampedLock stamped = new StampedLock();
        long optimistic = stamped.tryOptimisticRead();
        System.out.println(stamped.validate(optimistic));
        long write = stamped.writeLock();
        System.out.println(stamped.validate(optimistic) + " " + stamped.isWriteLocked() + " " + (stamped.tryReadLock() == 0));
        stamped.unlockWrite(write);
        long read = stamped.readLock();
        System.out.println(stamped.tryConvertToWriteLock(read) != 0);
    }
}
