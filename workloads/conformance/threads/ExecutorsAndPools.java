import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorCompletionService;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

public class ExecutorsAndPools {
    public static void main(String[] args) throws Exception {
        ExecutorService pool = Executors.newFixedThreadPool(3);
        List<Callable<Integer>> tasks = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            int n = i;
            tasks.add(() -> n * n);
        }
        int sum = 0;
        for (Future<Integer> f : pool.invokeAll(tasks)) {
            sum += f.get();
        }
        System.out.println(sum + " " + pool.invokeAny(List.of(() -> "any")));
        Future<?> failing = pool.submit(() -> {
            throw new IllegalArgumentException("task");
        });
        try {
            failing.get();
        } catch (ExecutionException e) {
            System.out.println(e.getMessage() + " " + failing.isDone());
        }
        ExecutorCompletionService<Integer> completion = new ExecutorCompletionService<>(pool);
        for (int i = 1; i <= 5; i++) {
            int n = i;
            completion.submit(() -> n);
        }
        int product = 1;
        for (int i = 0; i < 5; i++) {
            product *= completion.take().get();
        }
        System.out.println(product);
        pool.shutdown();
        System.out.println(pool.awaitTermination(10, TimeUnit.SECONDS) + " " + pool.isTerminated());
        try {
            pool.submit(() -> 1);
        } catch (RejectedExecutionException e) {
            System.out.println("rejected");
        }
        ThreadPoolExecutor small = new ThreadPoolExecutor(1, 1, 1, TimeUnit.SECONDS, new LinkedBlockingQueue<>(1),
            r -> new Thread(r, "small"), new ThreadPoolExecutor.CallerRunsPolicy());
        AtomicInteger byMain = new AtomicInteger();
        for (int i = 0; i < 10; i++) {
            small.execute(() -> {
                if (Thread.currentThread().getName().equals("main")) {
                    byMain.incrementAndGet();
                }
                try {
                    Thread.sleep(2);
                } catch (InterruptedException e) {
                    throw new AssertionError();
                }
            });
        }
        small.shutdown();
        small.awaitTermination(10, TimeUnit.SECONDS);
        System.out.println(small.getCompletedTaskCount() + byMain.get() + " " + (byMain.get() > 0));
        ExecutorService hanging = Executors.newCachedThreadPool();
        Future<String> sleeping = hanging.submit(() -> {
            Thread.sleep(100_000);
            return "never";
        });
        System.out.println(sleeping.cancel(true) + " " + sleeping.isCancelled());
        hanging.submit(() -> {
            Thread.sleep(100_000);
            return 1;
        });
        hanging.shutdownNow();
        System.out.println(hanging.awaitTermination(10, TimeUnit.SECONDS));
        ExecutorService stealing = Executors.newWorkStealingPool(2);
        System.out.println(stealing.submit(() -> "stolen").get());
    }
}
