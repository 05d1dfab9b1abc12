import java.util.Timer;
import java.util.TimerTask;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class Timers {
    public static void main(String[] args) throws Exception {
        Timer timer = new Timer(true);
        CountDownLatch ticks = new CountDownLatch(3);
        TimerTask task = new TimerTask() {
            @Override
            public void run() {
                ticks.countDown();
            }
        };
        timer.schedule(task, 1, 5);
        System.out.println(ticks.await(10, TimeUnit.SECONDS) + " " + task.cancel() + " " + task.cancel());
        timer.cancel();
        try {
            timer.schedule(new TimerTask() {
                @Override
                public void run() {}
            }, 1);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        ScheduledExecutorService pool = Executors.newScheduledThreadPool(2);
        long start = System.nanoTime();
        ScheduledFuture<String> later = pool.schedule(() -> "scheduled", 20, TimeUnit.MILLISECONDS);
        System.out.println(later.get() + " " + (System.nanoTime() - start >= 19_000_000));
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch five = new CountDownLatch(5);
        ScheduledFuture<?> periodic = pool.scheduleAtFixedRate(() -> {
            runs.incrementAndGet();
            five.countDown();
        }, 0, 2, TimeUnit.MILLISECONDS);
        System.out.println(five.await(10, TimeUnit.SECONDS) + " " + (runs.get() >= 5));
        periodic.cancel(false);
        System.out.println(periodic.isCancelled() + " " + periodic.isDone());
        pool.shutdown();
        System.out.println(pool.awaitTermination(5, TimeUnit.SECONDS));
    }
}
