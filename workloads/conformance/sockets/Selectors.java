import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedSelectorException;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.Iterator;

public class Selectors {
    static final int CLIENTS = 4;

    public static void main(String[] args) throws Exception {
        Selector selector = Selector.open();
        ServerSocketChannel server = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        server.configureBlocking(false);
        server.register(selector, SelectionKey.OP_ACCEPT);
        System.out.println(selector.selectNow() + " " + selector.select(5) + " " + selector.keys().size());
        Thread[] clients = new Thread[CLIENTS];
        String[] replies = new String[CLIENTS];
        for (int i = 0; i < CLIENTS; i++) {
            int id = i;
            clients[i] = new Thread(() -> {
                try (SocketChannel ch = SocketChannel.open(server.getLocalAddress())) {
                    ch.write(ByteBuffer.wrap(("client " + id).getBytes()));
                    ch.shutdownOutput();
                    ByteBuffer in = ByteBuffer.allocate(100);
                    while (ch.read(in) >= 0) {
                        Thread.onSpinWait();
                    }
                    replies[id] = new String(in.array(), 0, in.position());
                } catch (java.io.IOException e) {
                    throw new AssertionError(e);
                }
            });
            clients[i].start();
        }
        int closed = 0;
        while (closed < CLIENTS) {
            selector.select();
            Iterator<SelectionKey> it = selector.selectedKeys().iterator();
            while (it.hasNext()) {
                SelectionKey key = it.next();
                it.remove();
                if (key.isAcceptable()) {
                    SocketChannel ch = server.accept();
                    if (ch != null) {
                        ch.configureBlocking(false);
                        ch.register(selector, SelectionKey.OP_READ, ByteBuffer.allocate(100));
                    }
                } else if (key.isReadable()) {
                    SocketChannel ch = (SocketChannel) key.channel();
                    ByteBuffer b = (ByteBuffer) key.attachment();
                    if (ch.read(b) < 0) {
                        b.flip();
                        key.interestOps(SelectionKey.OP_WRITE);
                    }
                } else if (key.isWritable()) {
                    SocketChannel ch = (SocketChannel) key.channel();
                    ByteBuffer b = (ByteBuffer) key.attachment();
                    ch.write(b);
                    if (!b.hasRemaining()) {
                        ch.close();
                        closed++;
                    }
                }
            }
        }
        for (Thread t : clients) {
            t.join();
        }
        System.out.println(String.join(",", replies));
        Thread waker = new Thread(() -> {
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
            selector.wakeup();
        });
        waker.start();
        System.out.println(selector.select());
        waker.join();
        Thread.currentThread().interrupt();
        System.out.println(selector.select() + " " + Thread.interrupted());
        selector.close();
        try {
            selector.select();
        } catch (ClosedSelectorException e) {
            System.out.println("closed");
        }
        server.close();
    }
}
