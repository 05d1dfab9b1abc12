import java.util.Iterator;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.DelayQueue;
import java.util.concurrent.Delayed;
import java.util.concurrent.LinkedBlockingDeque;
import java.util.concurrent.PriorityBlockingQueue;
import java.util.concurrent.TimeUnit;

public class ConcurrentCollections {
    record Late(String name, long due) implements Delayed {
        @Override
        public long getDelay(TimeUnit unit) {
            return unit.convert(due - System.nanoTime(), TimeUnit.NANOSECONDS);
        }

        @Override
        public int compareTo(Delayed o) {
            return Long.compare(due, ((Late) o).due);
        }
    }

    public static void main(String[] args) throws Exception {
        ConcurrentHashMap<String, Integer> map = new ConcurrentHashMap<>();
        Thread[] threads = new Thread[4];
        for (int t = 0; t < threads.length; t++) {
            int id = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 500; i++) {
                    map.merge("k" + i % 50, 1, Integer::sum);
                    map.computeIfAbsent("t" + id + "-" + i % 10, k -> id);
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(map.size() + " " + map.get("k0") + " " + map.reduceValuesToInt(100, x -> x, 0, Integer::sum)
            + " " + map.search(1, (k, v) -> k.equals("t3-9") ? v : null) + " " + map.mappingCount());
        map.forEach(1000, (k, v) -> map.replace(k, v, v + 1));
        System.out.println(map.values().stream().mapToInt(x -> x).sum() + " " + ConcurrentHashMap.newKeySet().add("x"));
        try {
            map.put(null, 1);
        } catch (NullPointerException e) {
            System.out.println("null key");
        }
        ConcurrentSkipListMap<Integer, String> skip = new ConcurrentSkipListMap<>();
        for (int i = 0; i < 200; i++) {
            skip.put(i * 37 % 200, "v" + i);
        }
        System.out.println(skip.firstEntry() + " " + skip.ceilingKey(150) + " " + skip.headMap(5) + " " + skip.descendingMap().firstKey());
        CopyOnWriteArrayList<Integer> cow = new CopyOnWriteArrayList<>(new Integer[] {1, 2, 3});
        for (Integer i : cow) {
            cow.add(i * 10);
        }
        Iterator<Integer> it = cow.iterator();
        try {
            it.next();
            it.remove();
        } catch (UnsupportedOperationException e) {
            System.out.println(cow + " " + cow.addIfAbsent(30));
        }
        ConcurrentLinkedQueue<Integer> q = new ConcurrentLinkedQueue<>();
        ConcurrentLinkedDeque<Integer> d = new ConcurrentLinkedDeque<>();
        for (int i = 0; i < 20; i++) {
            q.offer(i);
            d.offerFirst(i);
        }
        q.removeIf(x -> x % 2 == 0);
        System.out.println(q + " " + d.peekLast() + d.pollFirst());
        ArrayBlockingQueue<Integer> bounded = new ArrayBlockingQueue<>(2);
        System.out.println(bounded.offer(1) + " " + bounded.offer(2) + " " + bounded.offer(3) + " "
            + bounded.offer(4, 5, TimeUnit.MILLISECONDS) + " " + bounded.remainingCapacity() + " " + bounded.take());
        PriorityBlockingQueue<String> pq = new PriorityBlockingQueue<>();
        pq.add("b");
        pq.add("a");
        LinkedBlockingDeque<String> lbd = new LinkedBlockingDeque<>();
        pq.drainTo(lbd);
        System.out.println(lbd + " " + pq.poll(1, TimeUnit.MILLISECONDS));
        DelayQueue<Late> delayed = new DelayQueue<>();
        long now = System.nanoTime();
        delayed.add(new Late("second", now + 20_000_000));
        delayed.add(new Late("first", now + 5_000_000));
        System.out.println(delayed.take().name() + " " + delayed.take().name());
    }
}
