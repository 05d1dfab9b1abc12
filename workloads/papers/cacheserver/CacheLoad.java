package cacheserver;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Pace;
import harness.Rng;
import harness.Zipf;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Map;

/**
 * A cache in memory behind the protocol of memcached, and its clients over the loopback device: inserts of new keys,
 * and reads by Zipf's law, which insert the items that are missing. The cache is full when it begins.
 *
 * <p>Arguments: cache in KiB, operations, inserts in a hundred operations (the rest are reads), threads of the
 * server and as many of the clients, operations a second of all (0: as fast as answers come). Latencies are
 * measured against the moment at which an operation was meant to start.
 *
 * <p>The evicted items depend on the order of the clients, so hits and misses are figures, not results. Each of
 * sixteen clients has keys of its own, knows what it stored, and checks each value that comes back.
 */
public final class CacheLoad {
    private static final int CLIENTS = 16;
    private static final int COUNTER_EVERY = 32;
    /** The size of an item in the cache, on average. */
    private static final int ITEM_BYTES = 700;

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "cache-kilobytes operations inserts threads operations-a-second",
            4096, 16000, 60, 2, 0);
        Figures.require(n[2] <= 100 && n[3] > 0, "inserts are up to 100, threads at least 1");
        Cache cache = new Cache((long) n[0] << 10);
        try (Server server = new Server(cache, n[3])) {
            int itemsEach = (int) (((long) n[0] << 10) / ITEM_BYTES / CLIENTS);
            new CacheLoad().run(server.port(), itemsEach, n[1] / CLIENTS, n[2], n[3], n[4]);
        }
    }

    private void run(int port, int itemsEach, int operations, int inserts, int threads, int perSecond)
            throws Exception {
        User[] users = new User[CLIENTS];
        long start = System.nanoTime();
        Crew.run("loader", threads, worker -> {
            for (int u = worker; u < CLIENTS; u += threads) {
                users[u] = new User(u, itemsEach + operations, inserts, new Client(port));
                users[u].fill(itemsEach);
            }
        });
        Figures.metric("load_s", Figures.seconds(start));
        Histogram[] times = new Histogram[threads];
        start = System.nanoTime();
        Crew.run("client", threads, worker -> {
            times[worker] = new Histogram();
            Pace pace = new Pace((double) perSecond / threads);
            for (int i = 0; i < operations; i++) {
                for (int u = worker; u < CLIENTS; u += threads) {
                    long intended = pace.await();
                    users[u].operate();
                    times[worker].add(System.nanoTime() - intended);
                }
            }
        });
        double seconds = Figures.seconds(start);
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        Figures.metric("run_s", seconds);
        Figures.metric("operations_per_s", all.total() / seconds);
        all.report("operation");
        Figures.peak();
        long misses = 0;
        long asked = 0;
        Checksum checksum = new Checksum();
        for (User user : users) {
            misses += user.misses;
            asked += user.reads;
            checksum.add(user.inserted).add(user.reads).add(user.count()).add(user.chosen.toString());
        }
        try (Client client = new Client(port)) {
            Map<String, Long> stats = client.stats();
            Figures.metric("hits_share", 1 - (double) misses / Math.max(1, asked));
            Figures.metric("evictions", stats.get("evictions"));
            Figures.metric("items", stats.get("curr_items"));
            Figures.require(stats.get("cmd_get") == asked, "the server has not seen each read once");
            Figures.require(stats.get("get_hits") == asked - misses, "the server has not seen each hit once");
            mistakes(client);
        }
        try (Client client = new Client(port)) {
            Figures.result("incomplete set", client.ask("set a 0 0"));
        }
        for (User user : users) {
            user.client.close();
        }
        Figures.result("operations", all.total());
        Figures.result("users", checksum);
    }

    /** The server's replies to requests that are not right, or not usual. */
    private static void mistakes(Client client) throws Exception {
        Figures.result("unknown", client.ask("unknown request"));
        Figures.result("delete", client.ask("delete"));
        Figures.require(client.store("set", "text", 1, "no number".getBytes(Protocol.CHARSET)), "set");
        Figures.result("incr of text", client.ask("incr text 1"));
        Figures.result("add", client.store("add", "text", 1, new byte[3]));
        Figures.result("replace", client.store("replace", "text", 2, new byte[3]));
        Figures.result("bytes", client.get("text", 2).length);
        Figures.result("deleted", client.delete("text") + " " + client.delete("text"));
        Figures.result("replace of nothing", client.store("replace", "text", 2, new byte[3]));
        Figures.result("flush_all", client.ask("flush_all"));
        Figures.result("items", client.stats().get("curr_items"));
    }

    /** A client with keys of its own, and one connection. */
    private static final class User {
        private final int number;
        private final int inserts;
        private final Client client;
        private final Rng rng;
        private final Zipf zipf;
        private final Checksum chosen = new Checksum();
        private int operations;
        private int inserted;
        private int reads;
        private int misses;
        private long counted;

        User(int number, int operations, int inserts, Client client) {
            this.number = number;
            this.inserts = inserts;
            this.client = client;
            rng = new Rng(700 + number);
            zipf = new Zipf(Math.max(2, operations), 0.99);
        }

        void fill(int items) throws Exception {
            while (inserted < items) {
                put(inserted++);
            }
        }

        void operate() throws Exception {
            if (operations++ % COUNTER_EVERY == 0) {
                count();
            }
            if (inserted == 0 || rng.below(100) < inserts) {
                put(inserted++);
                return;
            }
            // The newest keys are asked for most.
            int key = inserted - 1 - zipf.next(rng) % inserted;
            byte[] value = client.get(key(key), number);
            reads++;
            chosen.add(key);
            if (value == null) {
                misses++;
                put(key);
            } else {
                if (!Arrays.equals(value, value(key))) {
                    Figures.wrong(key(key) + " is not what was stored");
                }
            }
        }

        /** One more in a counter that the server keeps, or evicts and gets again. */
        long count() throws Exception {
            String name = "count-" + number;
            counted++;
            Long sum = client.increment(name, 1);
            if (sum == null) {
                client.store("set", name, 0, Long.toString(counted).getBytes(Protocol.CHARSET));
            } else {
                Figures.require(sum == counted, name + " is " + sum + " instead of " + counted);
            }
            return counted;
        }

        private void put(int key) throws Exception {
            Figures.require(client.store("set", key(key), number, value(key)), "a set was refused");
        }

        private String key(int key) {
            return "user-" + number + "-key-" + key;
        }

        /** From 100 to 1,000 bytes, which the key determines. */
        private byte[] value(int key) {
            long mark = ((long) number << 32 | key) * 0x9E3779B97F4A7C15L;
            byte[] value = new byte[100 + (int) ((mark >>> 40) % 901)];
            ByteBuffer buffer = ByteBuffer.wrap(value);
            while (buffer.remaining() >= 8) {
                buffer.putLong(mark);
                mark += 0x2545F4914F6CDD1DL;
            }
            return value;
        }
    }
}
