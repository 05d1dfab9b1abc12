package cacheserver;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.StandardSocketOptions;
import java.nio.ByteBuffer;
import java.nio.channels.SelectionKey;
import java.nio.channels.Selector;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/** A server on the loopback device: each of its threads waits for some connections and executes their requests. */
final class Server implements AutoCloseable {
    private final ServerSocketChannel listener;
    private final List<Loop> loops = new ArrayList<>();
    private final Protocol protocol;
    private final Thread acceptor = new Thread(this::accept, "acceptor");
    private volatile boolean closed;

    Server(Cache cache, int threads) throws IOException {
        protocol = new Protocol(cache);
        listener = ServerSocketChannel.open();
        listener.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        for (int i = 0; i < threads; i++) {
            Loop loop = new Loop("loop-" + i);
            loops.add(loop);
            loop.start();
        }
        acceptor.setDaemon(true);
        acceptor.start();
    }

    int port() throws IOException {
        return ((InetSocketAddress) listener.getLocalAddress()).getPort();
    }

    @Override
    public void close() throws IOException {
        closed = true;
        listener.close();
        loops.forEach(loop -> loop.selector.wakeup());
    }

    private void accept() {
        try {
            for (int next = 0; ; next = (next + 1) % loops.size()) {
                SocketChannel channel = listener.accept();
                channel.configureBlocking(false);
                channel.setOption(StandardSocketOptions.TCP_NODELAY, true);
                loops.get(next).arrived.add(channel);
                loops.get(next).selector.wakeup();
            }
        } catch (IOException e) {
            if (!closed) {
                System.err.println("the server accepts no more: " + e);
            }
        }
    }

    /** A thread and its connections. */
    private final class Loop extends Thread {
        private final Selector selector = Selector.open();
        private final Queue<SocketChannel> arrived = new ConcurrentLinkedQueue<>();

        Loop(String name) throws IOException {
            super(name);
            setDaemon(true);
        }

        @Override
        public void run() {
            try {
                while (!closed) {
                    selector.select();
                    for (SocketChannel channel = arrived.poll(); channel != null; channel = arrived.poll()) {
                        channel.register(selector, SelectionKey.OP_READ, new Connection(channel));
                    }
                    for (SelectionKey key : selector.selectedKeys()) {
                        serve(key);
                    }
                    selector.selectedKeys().clear();
                }
                for (SelectionKey key : selector.keys()) {
                    key.channel().close();
                }
                selector.close();
            } catch (IOException e) {
                System.err.println(getName() + " ends: " + e);
            }
        }

        private void serve(SelectionKey key) throws IOException {
            try {
                Connection connection = (Connection) key.attachment();
                boolean stays = !key.isReadable() || connection.read();
                boolean written = connection.write();
                if (!stays && written) {
                    key.channel().close();
                } else {
                    key.interestOps((stays ? SelectionKey.OP_READ : 0) | (written ? 0 : SelectionKey.OP_WRITE));
                }
            } catch (IOException e) {
                // The client has ended, or its connection has.
                key.channel().close();
            }
        }
    }

    /** Requests that were received and not yet executed, and replies that were not yet sent. */
    private final class Connection {
        private final SocketChannel channel;
        private ByteBuffer in = ByteBuffer.allocate(4096);
        private ByteBuffer out = ByteBuffer.allocate(0);
        private final Reply reply = new Reply();
        /** A line that waits for its data. */
        private String[] words;
        private int data = -1;

        Connection(SocketChannel channel) {
            this.channel = channel;
        }

        /** Reads and executes the complete requests; false if nothing more is wanted from this client. */
        boolean read() throws IOException {
            if (channel.read(in) < 0) {
                return false;
            }
            in.flip();
            boolean stays = execute();
            in.compact();
            if (!in.hasRemaining()) {
                in = ByteBuffer.allocate(2 * in.capacity()).put(in.flip());
            }
            return stays;
        }

        /** Whether all was sent. */
        boolean write() throws IOException {
            if (!out.hasRemaining()) {
                out = ByteBuffer.wrap(reply.take());
            }
            channel.write(out);
            return !out.hasRemaining() && reply.size() == 0;
        }

        private boolean execute() {
            while (true) {
                if (data >= 0) {
                    if (in.remaining() < data + 2) {
                        return true;
                    }
                    byte[] bytes = new byte[data];
                    in.get(bytes);
                    in.position(in.position() + 2);
                    protocol.execute(words, bytes, reply);
                    data = -1;
                    continue;
                }
                int end = endOfLine();
                if (end < 0) {
                    boolean tooLong = in.remaining() > Protocol.LINE_MAX;
                    if (tooLong) {
                        reply.line("CLIENT_ERROR line too long");
                    }
                    return !tooLong;
                }
                byte[] line = new byte[end - in.position()];
                in.get(line);
                in.position(end + 2);
                words = new String(line, Protocol.CHARSET).split(" ");
                if (words.length == 0 || words[0].equals("quit")) {
                    return false;
                }
                data = protocol.dataBytes(words);
                if (data == -2) {
                    // The bytes that follow cannot be distinguished from a request.
                    reply.line("CLIENT_ERROR bad command line format");
                    return false;
                }
                if (data < 0) {
                    protocol.execute(words, null, reply);
                }
            }
        }

        private int endOfLine() {
            for (int i = in.position(); i + 1 < in.limit(); i++) {
                if (in.get(i) == '\r' && in.get(i + 1) == '\n') {
                    return i;
                }
            }
            return -1;
        }
    }
}
