import com.sun.management.OperatingSystemMXBean;
import farheap.pool.MapOptions;
import farheap.pool.SharedMap;
import farheap.pool.SharedPool;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;

/**
 * A map of farheap.pool beside memcached and Redis on loopback, in one run.
 *
 * <pre>
 *     java -cp farheap-pool.jar:CLASSES CacheBench [SECONDS [JAVA]]
 * </pre>
 *
 * <p>Each client is a process with one thread, which has one request on its way: nine of ten read one of 100,000 keys
 * of 16 bytes, the others write it. All keys have a value when the measurement begins. A row is one server, one size of
 * values, and one or two clients at a time. The clients of memcached and Redis write and read the protocol in a direct
 * buffer over a SocketChannel with TCP_NODELAY, and do no more than look for the value's length and end.
 *
 * <p>CPU is the time that the clients and the server spend for an operation, with that of the kernel on their behalf.
 * It depends less than the others on what else the machine does.
 *
 * <p>A server that is not installed is left out, and that is said. JAVA is the JVM of the clients, this one if it is
 * not named.
 */
public class CacheBench {
    private static final int KEYS = 100_000;
    private static final int WARM_UP_MILLIS = 1_500;
    private static final int[] SIZES = {64, 1024};
    private static final int[] CLIENTS = {1, 2};

    public static void main(String[] args) throws Exception {
        if (args.length > 0 && args[0].equals("client")) {
            client(args[1], args[2], Integer.parseInt(args[3]), Long.parseLong(args[4]), args[5]);
            return;
        }
        double seconds = args.length > 0 ? Double.parseDouble(args[0]) : 3;
        String java = args.length > 1 ? args[1] : ProcessHandle.current().info().command().orElse("java");
        Path shared = Path.of("/dev/shm");
        Path folder = Files.createTempDirectory(Files.isDirectory(shared) ? shared : Path.of("/tmp"), "cache-bench");
        String head = "%-12s %6s %8s %12s %9s %9s %9s%n";
        System.out.printf(head, "", "bytes", "clients", "operations/s", "p50 us", "p99 us", "CPU us");
        try {
            for (String name : List.of("farheap.pool", "memcached", "redis")) {
                measure(name, folder, java, seconds);
            }
        } finally {
            try (var files = Files.list(folder)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
            Files.delete(folder);
        }
    }

    private static void measure(String name, Path folder, String java, double seconds) throws Exception {
        for (int size : SIZES) {
            try (Server server = Server.start(name, folder)) {
                if (server == null) {
                    System.out.println(name + ": not installed, left out (apt-get install memcached redis-server)");
                    return;
                }
                try (Cache cache = Cache.connect(name, server.address)) {
                    byte[] value = new byte[size];
                    for (int key = 0; key < KEYS; key++) {
                        cache.put(keyOf(key), value);
                    }
                }
                for (int clients : CLIENTS) {
                    row(name, server, java, size, clients, seconds);
                }
            }
        }
    }

    private static void row(String name, Server server, String java, int size, int clients, double seconds)
            throws Exception {
        List<Process> processes = new ArrayList<>();
        try {
            List<BufferedReader> outputs = new ArrayList<>();
            for (int i = 0; i < clients; i++) {
                List<String> command = new ArrayList<>(List.of(java));
                if (new File(java).getName().equals("vm")) {
                    command.add("run");
                }
                command.addAll(List.of("-Xmx256m", "-cp", System.getProperty("java.class.path"), "CacheBench"));
                String nanos = Long.toString((long) (seconds * 1e9));
                String own = Integer.toString(i);
                command.addAll(List.of("client", name, server.address, Integer.toString(size), nanos, own));
                Process process = new ProcessBuilder(command).redirectError(ProcessBuilder.Redirect.INHERIT).start();
                processes.add(process);
                var output = new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8);
                outputs.add(new BufferedReader(output));
            }
            for (BufferedReader output : outputs) {
                expect(output.readLine(), "warm");
            }
            long cpu = -server.cpuNanos();
            for (Process process : processes) {
                process.getOutputStream().write('\n');
                process.getOutputStream().flush();
            }
            Histogram all = new Histogram();
            double rate = 0;
            for (BufferedReader output : outputs) {
                rate += Double.parseDouble(output.readLine());
                cpu += Long.parseLong(output.readLine());
                all.add(output.readLine());
            }
            cpu += server.cpuNanos();
            double[] micros = {all.percentile(50) / 1e3, all.percentile(99) / 1e3, cpu / 1e3 / all.total()};
            System.out.printf(
                    "%-12s %6d %8d %,12.0f %9.2f %9.2f %9.2f%n",
                    name, size, clients, rate, micros[0], micros[1], micros[2]);
        } finally {
            processes.forEach(Process::destroyForcibly);
        }
    }

    private static void expect(String found, String wanted) {
        if (!wanted.equals(found)) {
            throw new IllegalStateException("a client said " + found);
        }
    }

    /** Works until it is warm, waits for the others, and works for the time of the measurement. */
    private static void client(String name, String address, int size, long nanos, String number) throws Exception {
        try (Cache cache = Cache.connect(name, address)) {
            SplittableRandom random = new SplittableRandom(number.hashCode());
            byte[][] keys = new byte[KEYS][];
            Arrays.setAll(keys, CacheBench::keyOf);
            byte[] value = new byte[size];
            work(cache, random, keys, value, WARM_UP_MILLIS * 1_000_000L, new Histogram());
            System.out.println("warm");
            System.in.read();
            Histogram histogram = new Histogram();
            long start = System.nanoTime();
            long cpu = ownCpuNanos();
            long count = work(cache, random, keys, value, nanos, histogram);
            System.out.println(count * 1e9 / (System.nanoTime() - start));
            System.out.println(ownCpuNanos() - cpu);
            System.out.println(histogram.text());
        }
    }

    private static long ownCpuNanos() {
        var bean = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        return bean.getProcessCpuTime();
    }

    private static long work(
            Cache cache, SplittableRandom random, byte[][] keys, byte[] value, long nanos, Histogram histogram)
            throws IOException {
        long start = System.nanoTime();
        long last = start;
        long count = 0;
        while (last - start < nanos) {
            byte[] key = keys[random.nextInt(KEYS)];
            if (random.nextInt(10) == 0) {
                cache.put(key, value);
            } else if (cache.get(key) != value.length) {
                throw new IllegalStateException("a wrong value");
            }
            long now = System.nanoTime();
            histogram.count(now - last);
            last = now;
            count++;
        }
        return count;
    }

    private static byte[] keyOf(int number) {
        return String.format("key:%012d", number).getBytes(StandardCharsets.UTF_8);
    }

    /** Counts of times, exact to 1/16. */
    private static final class Histogram {
        private final long[] counts = new long[64 * 16];

        void count(long nanos) {
            counts[place(nanos)]++;
        }

        private static int place(long nanos) {
            if (nanos < 16) {
                return (int) Math.max(0, nanos);
            }
            int shift = 59 - Long.numberOfLeadingZeros(nanos);
            return (shift + 1) * 16 + (int) (nanos >>> shift) - 16;
        }

        private static long nanos(int place) {
            if (place < 16) {
                return place;
            }
            int shift = place / 16 - 1;
            return (16L + place % 16) << shift;
        }

        long total() {
            return Arrays.stream(counts).sum();
        }

        double percentile(double percent) {
            double rest = total() * percent / 100;
            for (int place = 0; place < counts.length; place++) {
                rest -= counts[place];
                if (rest <= 0) {
                    return nanos(place);
                }
            }
            return 0;
        }

        String text() {
            StringBuilder text = new StringBuilder();
            for (int place = 0; place < counts.length; place++) {
                if (counts[place] > 0) {
                    text.append(place).append('=').append(counts[place]).append(' ');
                }
            }
            return text.toString();
        }

        void add(String text) {
            for (String pair : text.trim().split(" ")) {
                String[] parts = pair.split("=");
                counts[Integer.parseInt(parts[0])] += Long.parseLong(parts[1]);
            }
        }
    }

    /** What holds the values: a pool, or a server of this run. */
    private static final class Server implements Closeable {
        final String address;
        private final Process process;
        private final Closeable pool;

        private Server(String address, Process process, Closeable pool) {
            this.address = address;
            this.process = process;
            this.pool = pool;
        }

        /** Null: it is not installed. */
        static Server start(String name, Path folder) throws IOException, InterruptedException {
            if (name.equals("farheap.pool")) {
                Path file = folder.resolve("pool");
                Files.deleteIfExists(file);
                // Sparse: it takes what the entries take.
                SharedPool pool = SharedPool.create(file, 4L << 30);
                pool.map("cache", MapOptions.cache(KEYS, 512 << 20));
                return new Server(file.toString(), null, pool::close);
            }
            int port;
            try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                port = free.getLocalPort();
            }
            String number = Integer.toString(port);
            List<String> command =
                    name.equals("memcached")
                            ? List.of(
                                    "memcached", "-l", "127.0.0.1", "-p", number, "-U", "0", "-m", "512", "-u", user())
                            : List.of(
                                    "redis-server", "--bind", "127.0.0.1", "--port", number, "--save", "",
                                    "--appendonly", "no", "--dir", folder.toString());
            Process process;
            try {
                process = new ProcessBuilder(command)
                        .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                        .redirectError(ProcessBuilder.Redirect.DISCARD)
                        .start();
            } catch (IOException missing) {
                return null;
            }
            Server server = new Server(number, process, null);
            for (int i = 0; ; i++) {
                try {
                    SocketChannel.open(new InetSocketAddress("127.0.0.1", port)).close();
                    return server;
                } catch (IOException notYet) {
                    if (i == 500 || !process.isAlive()) {
                        server.close();
                        throw new IOException(name + " does not listen", notYet);
                    }
                    Thread.sleep(10);
                }
            }
        }

        /** What its process has spent. A pool has none. */
        long cpuNanos() {
            return process == null ? 0 : process.info().totalCpuDuration().map(Duration::toNanos).orElse(0L);
        }

        /** As a server that root starts must be another one's. */
        private static String user() {
            return System.getProperty("user.name").equals("root") ? "nobody" : System.getProperty("user.name");
        }

        @Override
        public void close() throws IOException {
            if (process == null) {
                pool.close();
                return;
            }
            process.destroy();
            try {
                if (!process.waitFor(5, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                }
            } catch (InterruptedException interrupted) {
                process.destroyForcibly();
            }
        }
    }

    /** A client of one of them. */
    private interface Cache extends Closeable {
        /** The length of the value, or -1. */
        int get(byte[] key) throws IOException;

        void put(byte[] key, byte[] value) throws IOException;

        static Cache connect(String name, String address) throws IOException {
            return switch (name) {
                case "farheap.pool" -> new Pooled(address);
                case "memcached" -> new Memcached(Integer.parseInt(address));
                default -> new Redis(Integer.parseInt(address));
            };
        }
    }

    private static final class Pooled implements Cache {
        private final SharedPool pool;
        private final SharedMap map;

        Pooled(String file) {
            pool = SharedPool.open(Path.of(file));
            map = pool.map("cache");
        }

        @Override
        public int get(byte[] key) {
            byte[] found = map.get(key);
            return found == null ? -1 : found.length;
        }

        @Override
        public void put(byte[] key, byte[] value) {
            map.put(key, value);
        }

        @Override
        public void close() {
            pool.close();
        }
    }

    /** A connection with one request on its way. */
    private abstract static class Connection implements Cache {
        private final SocketChannel channel;
        final ByteBuffer buffer = ByteBuffer.allocateDirect(64 << 10);

        Connection(int port) throws IOException {
            channel = SocketChannel.open(new InetSocketAddress("127.0.0.1", port));
            channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
        }

        final void number(int value) {
            if (value >= 10) {
                number(value / 10);
            }
            buffer.put((byte) ('0' + value % 10));
        }

        /** Sends the request in the buffer, and reads the beginning of the answer into it. */
        final void send() throws IOException {
            buffer.flip();
            while (buffer.hasRemaining()) {
                channel.write(buffer);
            }
            buffer.clear();
            more();
        }

        private void more() throws IOException {
            if (channel.read(buffer) < 0) {
                throw new EOFException();
            }
        }

        /** Waits for this many bytes of the answer. */
        final void await(int bytes) throws IOException {
            while (buffer.position() < bytes) {
                more();
            }
        }

        /** Waits for the end of the line that begins at a place, and returns where the next one begins. */
        final int line(int from) throws IOException {
            for (int at = from; ; at++) {
                await(at + 1);
                if (buffer.get(at) == '\n') {
                    return at + 1;
                }
            }
        }

        /** The number that ends before a line's end. */
        final int numberBefore(int end) {
            int at = end - 2;
            int value = 0;
            for (int unit = 1; buffer.get(at - 1) >= '0' && buffer.get(at - 1) <= '9'; unit *= 10, at--) {
                value += unit * (buffer.get(at - 1) - '0');
            }
            return value;
        }

        @Override
        public void close() throws IOException {
            channel.close();
        }
    }

    private static final class Memcached extends Connection {
        private static final byte[] GET = "get ".getBytes(StandardCharsets.UTF_8);
        private static final byte[] SET = "set ".getBytes(StandardCharsets.UTF_8);
        private static final byte[] LIFE = " 0 0 ".getBytes(StandardCharsets.UTF_8);
        private static final byte[] END = "\r\n".getBytes(StandardCharsets.UTF_8);

        Memcached(int port) throws IOException {
            super(port);
        }

        @Override
        public int get(byte[] key) throws IOException {
            buffer.clear();
            buffer.put(GET).put(key).put(END);
            send();
            int end = line(0);
            if (buffer.get(0) != 'V') {
                return -1;
            }
            int length = numberBefore(end);
            // Behind the value: \r\nEND\r\n.
            await(end + length + 7);
            byte[] value = new byte[length];
            buffer.get(end, value);
            return value.length;
        }

        @Override
        public void put(byte[] key, byte[] value) throws IOException {
            buffer.clear();
            buffer.put(SET).put(key).put(LIFE);
            number(value.length);
            buffer.put(END).put(value).put(END);
            send();
            line(0);
            if (buffer.get(0) != 'S') {
                throw new IOException("not stored");
            }
        }
    }

    private static final class Redis extends Connection {
        private static final byte[] GET = "*2\r\n$3\r\nGET\r\n$".getBytes(StandardCharsets.UTF_8);
        private static final byte[] SET = "*3\r\n$3\r\nSET\r\n$".getBytes(StandardCharsets.UTF_8);
        private static final byte[] NEXT = "\r\n$".getBytes(StandardCharsets.UTF_8);
        private static final byte[] END = "\r\n".getBytes(StandardCharsets.UTF_8);

        Redis(int port) throws IOException {
            super(port);
        }

        @Override
        public int get(byte[] key) throws IOException {
            buffer.clear();
            buffer.put(GET);
            number(key.length);
            buffer.put(END).put(key).put(END);
            send();
            int end = line(0);
            if (buffer.get(0) != '$' || buffer.get(1) == '-') {
                return -1;
            }
            int length = numberBefore(end);
            await(end + length + 2);
            byte[] value = new byte[length];
            buffer.get(end, value);
            return value.length;
        }

        @Override
        public void put(byte[] key, byte[] value) throws IOException {
            buffer.clear();
            buffer.put(SET);
            number(key.length);
            buffer.put(END).put(key).put(NEXT);
            number(value.length);
            buffer.put(END).put(value).put(END);
            send();
            line(0);
            if (buffer.get(0) != '+') {
                throw new IOException("not stored");
            }
        }
    }
}
