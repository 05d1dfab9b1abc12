import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.RecursiveTask;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

// zeal
public class ParallelStreams {
    static class Sum extends RecursiveTask<Long> {
        final int[] data;
        final int from;
        final int to;

        Sum(int[] data, int from, int to) {
            this.data = data;
            this.from = from;
            this.to = to;
        }

        @Override
        protected Long compute() {
            if (to - from < 500) {
                long s = 0;
                for (int i = from; i < to; i++) {
                    s += data[i];
                }
                return s;
            }
            int mid = (from + to) / 2;
            Sum left = new Sum(data, from, mid);
            Sum right = new Sum(data, mid, to);
            left.fork();
            return right.compute() + left.join();
        }
    }

    public static void main(String[] args) {
        System.out.println(IntStream.range(0, 20000).parallel().map(x -> x % 13).sum());
        System.out.println(LongStream.rangeClosed(1, 5000).parallel().filter(x -> x % 3 == 0).reduce(0, Long::sum));
        List<String> ordered = IntStream.range(0, 300).parallel().mapToObj(i -> "s" + i).collect(Collectors.toList());
        System.out.println(ordered.get(0) + ordered.get(299) + ordered.size() + " " + ordered.hashCode());
        ConcurrentHashMap<Integer, Integer> counts = new ConcurrentHashMap<>();
        IntStream.range(0, 4000).parallel().forEach(i -> counts.merge(i % 10, 1, Integer::sum));
        System.out.println(counts);
        StringBuilder sb = new StringBuilder();
        IntStream.range(0, 30).parallel().forEachOrdered(sb::append);
        System.out.println(sb);
        int[] data = IntStream.range(0, 10000).toArray();
        System.out.println(new ForkJoinPool(3).invoke(new Sum(data, 0, data.length)));
        System.out.println(ForkJoinPool.commonPool().invoke(new Sum(data, 0, 5000)));
        System.out.println(IntStream.range(0, 2000).parallel().boxed().sorted((a, b) -> b - a).limit(3).toList());
        int[] prefix = new int[1000];
        java.util.Arrays.setAll(prefix, i -> 1);
        java.util.Arrays.parallelPrefix(prefix, Integer::sum);
        System.out.println(prefix[999]);
        int[] sorted = new java.util.Random(3).ints(10000).toArray();
        java.util.Arrays.parallelSort(sorted);
        boolean ok = true;
        for (int i = 1; i < sorted.length; i++) {
            ok &= sorted[i - 1] <= sorted[i];
        }
        System.out.println(ok);
        try {
            IntStream.range(0, 1000).parallel().forEach(i -> {
                if (i == 500) {
                    throw new IllegalStateException("in parallel");
                }
            });
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage() == null ? "wrapped" : "in parallel");
        }
    }
}
