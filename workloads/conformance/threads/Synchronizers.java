import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Exchanger;
import java.util.concurrent.Phaser;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Synchronizers {
    static Thread start(Runnable r) {
        Thread t = new Thread(r);
        t.start();
        return t;
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch latch = new CountDownLatch(5);
        AtomicInteger sum = new AtomicInteger();
        for (int i = 1; i <= 5; i++) {
            int n = i;
            start(() -> {
                sum.addAndGet(n);
                latch.countDown();
            });
        }
        latch.await();
        System.out.println(sum.get() + " " + latch.getCount());
        int[] rounds = new int[1];
        CyclicBarrier barrier = new CyclicBarrier(3, () -> rounds[0]++);
        Thread[] threads = new Thread[3];
        for (int t = 0; t < 3; t++) {
            threads[t] = start(() -> {
                try {
                    for (int i = 0; i < 20; i++) {
                        barrier.await();
                    }
                } catch (InterruptedException | BrokenBarrierException e) {
                    throw new AssertionError(e);
                }
            });
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(rounds[0] + " " + barrier.isBroken());
        Semaphore semaphore = new Semaphore(2);
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        threads = new Thread[5];
        for (int t = 0; t < 5; t++) {
            threads[t] = start(() -> {
                for (int i = 0; i < 20; i++) {
                    semaphore.acquireUninterruptibly();
                    most.accumulateAndGet(inside.incrementAndGet(), Math::max);
                    Thread.yield();
                    inside.decrementAndGet();
                    semaphore.release();
                }
            });
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println((most.get() <= 2) + " " + semaphore.availablePermits() + " " + semaphore.tryAcquire(3));
        Phaser phaser = new Phaser(1);
        StringBuffer log = new StringBuffer();
        for (int i = 0; i < 3; i++) {
            phaser.register();
            start(() -> {
                phaser.arriveAndAwaitAdvance();
                log.append("x");
                phaser.arriveAndDeregister();
            });
        }
        phaser.arriveAndAwaitAdvance();
        phaser.arriveAndAwaitAdvance();
        System.out.println(phaser.getPhase() + " " + log + " " + phaser.getRegisteredParties());
        Exchanger<String> exchanger = new Exchanger<>();
        Thread other = start(() -> {
            try {
                System.out.println("other got " + exchanger.exchange("from other"));
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
        });
        String got = exchanger.exchange("from main");
        other.join();
        System.out.println("main got " + got);
        SynchronousQueue<Integer> queue = new SynchronousQueue<>();
        Thread producer = start(() -> {
            try {
                for (int i = 0; i < 10; i++) {
                    queue.put(i);
                }
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
        });
        int total = 0;
        for (int i = 0; i < 10; i++) {
            total += queue.take();
        }
        producer.join();
        System.out.println(total + " " + queue.poll(1, TimeUnit.MILLISECONDS));
    }
}
