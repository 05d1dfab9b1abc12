import java.net.DatagramPacket;
import java.net.DatagramSocket;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketTimeoutException;
import java.nio.ByteBuffer;
import java.nio.channels.DatagramChannel;

public class UdpLoopback {
    public static void main(String[] args) throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        try (DatagramSocket a = new DatagramSocket(0, loopback); DatagramSocket b = new DatagramSocket(0, loopback)) {
            byte[] data = "datagram".getBytes();
            a.send(new DatagramPacket(data, data.length, loopback, b.getLocalPort()));
            DatagramPacket got = new DatagramPacket(new byte[100], 100);
            b.setSoTimeout(10000);
            b.receive(got);
            System.out.println(new String(got.getData(), 0, got.getLength()) + " " + (got.getPort() == a.getLocalPort()));
            a.send(new DatagramPacket(new byte[50], 50, loopback, b.getLocalPort()));
            DatagramPacket small = new DatagramPacket(new byte[10], 10);
            b.receive(small);
            System.out.println(small.getLength());
            b.setSoTimeout(5);
            try {
                b.receive(got);
            } catch (SocketTimeoutException e) {
                System.out.println(e.getMessage());
            }
        }
        try (DatagramChannel c = DatagramChannel.open().bind(new InetSocketAddress(loopback, 0));
             DatagramChannel d = DatagramChannel.open().bind(new InetSocketAddress(loopback, 0))) {
            d.connect(c.getLocalAddress());
            System.out.println(d.write(ByteBuffer.wrap("channel".getBytes())));
            ByteBuffer in = ByteBuffer.allocateDirect(64);
            System.out.println(c.receive(in).equals(d.getLocalAddress()) + " " + in.position());
            c.configureBlocking(false);
            System.out.println(c.receive(in));
        }
    }
}
