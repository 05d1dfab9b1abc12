import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.AsynchronousServerSocketChannel;
import java.nio.channels.AsynchronousSocketChannel;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.CompletionHandler;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CountDownLatch;

public class AsyncChannels {
    public static void main(String[] args) throws Exception {
        AsynchronousServerSocketChannel server = AsynchronousServerSocketChannel.open()
            .bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        CountDownLatch done = new CountDownLatch(1);
        server.accept("attachment", new CompletionHandler<AsynchronousSocketChannel, String>() {
            @Override
            public void completed(AsynchronousSocketChannel ch, String a) {
                ByteBuffer b = ByteBuffer.allocate(50);
                ch.read(b, null, new CompletionHandler<Integer, Void>() {
                    @Override
                    public void completed(Integer n, Void v) {
                        System.out.println(a + " read " + n);
                        ch.write(b.flip());
                        done.countDown();
                    }

                    @Override
                    public void failed(Throwable t, Void v) {
                        System.out.println(t);
                    }
                });
            }

            @Override
            public void failed(Throwable t, String a) {
                System.out.println(t);
            }
        });
        AsynchronousSocketChannel client = AsynchronousSocketChannel.open();
        client.connect(server.getLocalAddress()).get();
        client.write(ByteBuffer.wrap("async".getBytes())).get();
        done.await();
        ByteBuffer back = ByteBuffer.allocate(50);
        System.out.println(client.read(back).get() + " " + new String(back.array(), 0, 5));
        client.close();
        server.close();
        Path path = Path.of("s.sock");
        try (ServerSocketChannel unix = ServerSocketChannel.open(StandardProtocolFamily.UNIX)) {
            unix.bind(UnixDomainSocketAddress.of(path));
            try (SocketChannel c = SocketChannel.open(UnixDomainSocketAddress.of(path)); SocketChannel s = unix.accept()) {
                c.write(ByteBuffer.wrap("unix".getBytes()));
                ByteBuffer in = ByteBuffer.allocate(10);
                System.out.println(s.read(in) + " " + s.getRemoteAddress());
            }
        }
        Files.delete(path);
        ServerSocketChannel blocking = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread t = new Thread(() -> {
            try {
                blocking.accept();
            } catch (ClosedByInterruptException e) {
                System.out.println("closed by interrupt " + Thread.currentThread().isInterrupted());
            } catch (java.io.IOException e) {
                System.out.println(e);
            }
        });
        t.start();
        Thread.sleep(10);
        t.interrupt();
        t.join();
        System.out.println(blocking.isOpen());
        ServerSocketChannel closing = ServerSocketChannel.open().bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
        Thread u = new Thread(() -> {
            try {
                closing.accept();
            } catch (ClosedChannelException e) {
                System.out.println("closed");
            } catch (java.io.IOException e) {
                System.out.println(e);
            }
        });
        u.start();
        while (u.getState() != Thread.State.RUNNABLE) {
            Thread.onSpinWait();
        }
        Thread.sleep(20);
        closing.close();
        u.join();
        System.out.println(NetworkInterface.getByName("lo").isLoopback() + " " + NetworkInterface.getNetworkInterfaces().hasMoreElements());
    }
}
