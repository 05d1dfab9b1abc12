import farheap.pool.ChannelReceiver;
import farheap.pool.ChannelSender;
import farheap.pool.MapOptions;
import farheap.pool.RecordMap;
import farheap.pool.SharedBuffer;
import farheap.pool.SharedChannel;
import farheap.pool.SharedPool;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;

/** Two processes: one counts a visit and sends a page, the other one receives it. */
public class Visits {
    record User(String name, int visits) {}

    public static void main(String[] args) throws Exception {
        try (SharedPool pool = SharedPool.openOrCreate(Path.of(args[0]), 256 << 20)) {
            RecordMap<String, User> users =
                    pool.map("users", String.class, User.class, MapOptions.cache(10_000, 32 << 20));
            SharedChannel pages = pool.channel("pages");
            if (args[1].equals("send")) {
                users.update("ada", old -> new User("Ada", old == null ? 1 : old.visits() + 1));
                try (ChannelSender out = pages.sender()) {
                    // Written where the receiver reads it.
                    SharedBuffer page = out.allocate(1 << 20);
                    page.bytes().put("a page for ada".getBytes(StandardCharsets.UTF_8));
                    out.offer(page, page.bytes().position());
                }
            } else {
                try (ChannelReceiver in = pages.receiver();
                        SharedBuffer page = in.receive(Duration.ofSeconds(30))) {
                    System.out.println(StandardCharsets.UTF_8.decode(page.bytes()) + ": " + users.get("ada"));
                }
            }
        }
    }
}
