import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.stream.IntStream;

public class Futures {
    public static void main(String[] args) throws Exception {
        CompletableFuture<Integer> a = CompletableFuture.supplyAsync(() -> 20);
        CompletableFuture<Integer> b = CompletableFuture.supplyAsync(() -> 22);
        System.out.println(a.thenCombine(b, Integer::sum).thenApply(x -> "sum " + x).get());
        System.out.println(a.thenCompose(x -> CompletableFuture.supplyAsync(() -> x * 2)).join());
        CompletableFuture<Integer> failed = CompletableFuture.supplyAsync(() -> {
            throw new IllegalStateException("broken");
        });
        try {
            failed.get();
        } catch (ExecutionException e) {
            System.out.println(e.getCause());
        }
        try {
            failed.join();
        } catch (CompletionException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(failed.exceptionally(t -> -1).join() + " " + failed.handle((v, t) -> t == null ? "ok" : "handled").join()
            + " " + failed.isCompletedExceptionally());
        List<CompletableFuture<Integer>> all = IntStream.range(0, 10).mapToObj(i -> CompletableFuture.supplyAsync(() -> i * i)).toList();
        CompletableFuture.allOf(all.toArray(new CompletableFuture[0])).join();
        System.out.println(all.stream().mapToInt(CompletableFuture::join).sum());
        System.out.println(CompletableFuture.anyOf(CompletableFuture.completedFuture("x"), new CompletableFuture<>()).join());
        CompletableFuture<String> manual = new CompletableFuture<>();
        StringBuffer log = new StringBuffer();
        manual.thenAccept(s -> log.append("1:").append(s)).thenRun(() -> log.append(" 2"));
        manual.whenComplete((s, t) -> log.append(" done "));
        System.out.println(manual.complete("value") + " " + manual.complete("again") + " " + manual.getNow("none"));
        System.out.println(log.length());
        CompletableFuture<String> never = new CompletableFuture<>();
        try {
            never.get(5, TimeUnit.MILLISECONDS);
        } catch (TimeoutException e) {
            System.out.println("timeout");
        }
        System.out.println(new CompletableFuture<String>().completeOnTimeout("late", 5, TimeUnit.MILLISECONDS).join());
        never.cancel(true);
        try {
            never.join();
        } catch (CancellationException e) {
            System.out.println("cancelled");
        }
        ExecutorService pool = Executors.newFixedThreadPool(2);
        System.out.println(CompletableFuture.supplyAsync(() -> "own pool", pool).thenApplyAsync(String::length, pool).get());
        pool.shutdown();
        System.out.println(pool.awaitTermination(5, TimeUnit.SECONDS));
    }
}
