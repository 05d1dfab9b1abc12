import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.io.File;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/**
 * A ZooKeeper server over loopback with its log on disk, and clients that create, change, list, watch and delete nodes,
 * write several at once, count together by versions, and take turns by a lock of ephemeral nodes. Then the server is
 * started again from its log, and must hold the same.
 *
 * <p>Arguments: clients, operations of each, nodes of each, turns of each.
 */
public class Coordination {
    private static final List<org.apache.zookeeper.data.ACL> OPEN = ZooDefs.Ids.OPEN_ACL_UNSAFE;

    private final int clients;
    private final int operations;
    private final int nodes;
    private final int turns;
    private int inside;

    Coordination(int clients, int operations, int nodes, int turns) {
        this.clients = clients;
        this.operations = operations;
        this.nodes = nodes;
        this.turns = turns;
    }

    public static void main(String[] args) throws Exception {
        int[] n = {3, 200, 50, 5};
        for (int i = 0; i < args.length; i++) {
            n[i] = Integer.parseInt(args[i]);
        }
        Path folder = Files.createTempDirectory("zookeeper");
        try {
            new Coordination(n[0], n[1], n[2], n[3]).run(folder.toFile());
        } finally {
            try (Stream<Path> found = Files.walk(folder)) {
                found.sorted(Collections.reverseOrder()).map(Path::toFile).forEach(File::delete);
            }
        }
        System.exit(0);
    }

    private void run(File folder) throws Exception {
        long start = System.nanoTime();
        ServerCnxnFactory server = serve(folder);
        Figures.metric("start_s", Figures.seconds(start));
        String before;
        try (ZooKeeper first = connect(server)) {
            first.create("/counter", "0".getBytes(StandardCharsets.US_ASCII), OPEN, CreateMode.PERSISTENT);
            first.create("/turns", new byte[0], OPEN, CreateMode.PERSISTENT);
            List<Client> all = new ArrayList<>();
            start = System.nanoTime();
            for (int i = 0; i < clients; i++) {
                Client client = new Client(server, i);
                all.add(client);
                client.start();
            }
            long[] nanos = new long[clients * operations];
            for (Client client : all) {
                client.join();
                if (client.failure != null) {
                    throw client.failure;
                }
                System.arraycopy(client.nanos, 0, nanos, client.number * operations, operations);
                Figures.result("client " + client.number, client.checksum + " watched " + client.watched);
            }
            double seconds = Figures.seconds(start);
            Figures.metric("run_s", seconds);
            Figures.metric("operations_per_s", nanos.length / seconds);
            Figures.latencies("operation", nanos);
            Figures.result("counter", new String(first.getData("/counter", false, null), StandardCharsets.US_ASCII));
            Figures.result("turns", inside + " of " + clients * turns);
            before = contents(first);
        }
        server.shutdown();
        start = System.nanoTime();
        server = serve(folder);
        try (ZooKeeper again = connect(server)) {
            String after = contents(again);
            Figures.require(before.equals(after), "after a restart: " + after + ", before: " + before);
            Figures.result("contents", after);
        }
        Figures.metric("restart_s", Figures.seconds(start));
        server.shutdown();
    }

    private static ServerCnxnFactory serve(File folder) throws Exception {
        ZooKeeperServer keeper = new ZooKeeperServer(folder, folder, 2000);
        ServerCnxnFactory factory = new NIOServerCnxnFactory();
        factory.configure(new InetSocketAddress("127.0.0.1", 0), 100);
        factory.startup(keeper);
        return factory;
    }

    private static ZooKeeper connect(ServerCnxnFactory server) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + server.getLocalPort(), 60_000, event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected) {
                connected.countDown();
            }
        });
        Figures.require(connected.await(60, TimeUnit.SECONDS), "no connection to the server");
        return client;
    }

    /** All nodes below the root with their data and versions. */
    private static String contents(ZooKeeper client) throws Exception {
        Checksum checksum = new Checksum();
        List<String> open = new ArrayList<>(List.of("/counter", "/turns"));
        for (String child : client.getChildren("/", false)) {
            if (child.startsWith("client")) {
                open.add("/" + child);
            }
        }
        Collections.sort(open);
        int count = 0;
        for (int at = 0; at < open.size(); at++) {
            Stat stat = new Stat();
            byte[] data = client.getData(open.get(at), false, stat);
            List<String> children = client.getChildren(open.get(at), false);
            Collections.sort(children);
            for (String child : children) {
                open.add(open.get(at) + "/" + child);
            }
            // How often the clients' attempts to count met depends on time; how often they counted does not.
            checksum.add(open.get(at)).add(data == null ? new byte[0] : data).add(stat.getVersion());
            count++;
        }
        return count + " nodes " + checksum;
    }

    /** One client with a connection of its own. */
    private final class Client extends Thread {
        final int number;
        final long[] nanos = new long[operations];
        final Checksum checksum = new Checksum();
        int watched;
        Exception failure;
        private final ServerCnxnFactory server;
        private final Rng rng;
        private final String root;

        Client(ServerCnxnFactory server, int number) {
            this.server = server;
            this.number = number;
            rng = new Rng(70 + number);
            root = "/client" + number;
        }

        @Override
        public void run() {
            try (ZooKeeper keeper = connect(server)) {
                keeper.create(root, new byte[0], OPEN, CreateMode.PERSISTENT);
                for (int i = 0; i < operations; i++) {
                    long start = System.nanoTime();
                    operate(keeper, i);
                    nanos[i] = System.nanoTime() - start;
                }
                for (int i = 0; i < turns; i++) {
                    takeTurn(keeper);
                }
            } catch (Exception exception) {
                failure = exception;
            }
        }

        private void operate(ZooKeeper keeper, int i) throws Exception {
            String path = root + "/node" + rng.skewed(nodes);
            byte[] data = rng.letters(rng.between(5, 400)).getBytes(StandardCharsets.US_ASCII);
            try {
                switch (rng.below(8)) {
                    case 0:
                        checksum.add(keeper.create(path, data, OPEN, CreateMode.PERSISTENT));
                        break;
                    case 1:
                        checksum.add(keeper.setData(path, data, -1).getVersion());
                        break;
                    case 2:
                        checksum.add(keeper.getData(path, false, null));
                        break;
                    case 3:
                        List<String> children = keeper.getChildren(root, false);
                        Collections.sort(children);
                        checksum.add(children.toString());
                        break;
                    case 4:
                        keeper.delete(path, -1);
                        break;
                    case 5:
                        watch(keeper, path, data);
                        break;
                    case 6:
                        count(keeper);
                        break;
                    default:
                        checksum.add(keeper.multi(List.of(Op.setData(path, data, -1),
                            Op.create(root + "/list" + i + "-", data, OPEN, CreateMode.PERSISTENT_SEQUENTIAL))).size());
                        break;
                }
            } catch (KeeperException.NoNodeException | KeeperException.NodeExistsException exception) {
                checksum.add(exception.code().name());
            }
        }

        private void watch(ZooKeeper keeper, String path, byte[] data) throws Exception {
            CountDownLatch seen = new CountDownLatch(1);
            AtomicInteger kind = new AtomicInteger();
            boolean exists = keeper.exists(path, (WatchedEvent event) -> {
                kind.set(event.getType().getIntValue());
                seen.countDown();
            }) != null;
            if (exists) {
                keeper.setData(path, data, -1);
            } else {
                keeper.create(path, data, OPEN, CreateMode.PERSISTENT);
            }
            Figures.require(seen.await(60, TimeUnit.SECONDS), "a watch was never told");
            checksum.add(kind.get());
            watched++;
        }

        /** Adds one to the count of all clients: again, when another one was faster. */
        private void count(ZooKeeper keeper) throws Exception {
            while (true) {
                Stat stat = new Stat();
                int value = Integer.parseInt(new String(keeper.getData("/counter", false, stat), StandardCharsets.US_ASCII));
                try {
                    byte[] next = Integer.toString(value + 1).getBytes(StandardCharsets.US_ASCII);
                    keeper.setData("/counter", next, stat.getVersion());
                    return;
                } catch (KeeperException.BadVersionException another) {
                    continue;
                }
            }
        }

        /** The lock is with the node of the lowest number; each other one waits for the one before it. */
        private void takeTurn(ZooKeeper keeper) throws Exception {
            String mine = keeper.create("/turns/t", new byte[0], OPEN, CreateMode.EPHEMERAL_SEQUENTIAL).substring(7);
            while (true) {
                List<String> waiting = keeper.getChildren("/turns", false);
                Collections.sort(waiting);
                int place = waiting.indexOf(mine);
                if (place == 0) {
                    break;
                }
                CountDownLatch gone = new CountDownLatch(1);
                if (keeper.exists("/turns/" + waiting.get(place - 1), event -> gone.countDown()) != null) {
                    Figures.require(gone.await(60, TimeUnit.SECONDS), "a turn never came");
                }
            }
            int count = inside;
            Thread.sleep(1);
            inside = count + 1;
            keeper.delete("/turns/" + mine, -1);
        }
    }
}
