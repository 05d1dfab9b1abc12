import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;

public class TcpLoopback {
    public static void main(String[] args) throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        ServerSocket server = new ServerSocket(0, 10, loopback);
        Thread acceptor = new Thread(() -> {
            try {
                for (int i = 0; i < 3; i++) {
                    try (Socket s = server.accept();
                         BufferedReader in = new BufferedReader(new InputStreamReader(s.getInputStream()));
                         PrintWriter out = new PrintWriter(s.getOutputStream(), true)) {
                        for (String line = in.readLine(); line != null; line = in.readLine()) {
                            out.println("echo " + line);
                        }
                    }
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        acceptor.start();
        for (int c = 0; c < 3; c++) {
            try (Socket s = new Socket(loopback, server.getLocalPort())) {
                s.setTcpNoDelay(true);
                s.setSoTimeout(20000);
                PrintWriter out = new PrintWriter(s.getOutputStream(), true);
                BufferedReader in = new BufferedReader(new InputStreamReader(s.getInputStream()));
                for (int i = 0; i < 5; i++) {
                    out.println(c + "/" + i);
                    System.out.println(in.readLine());
                }
                s.shutdownOutput();
                System.out.println(in.readLine() + " " + s.getTcpNoDelay() + " " + s.isConnected() + " " + s.getInetAddress().isLoopbackAddress());
            }
        }
        acceptor.join();
        server.setSoTimeout(5);
        try {
            server.accept();
        } catch (SocketTimeoutException e) {
            System.out.println(e.getMessage());
        }
        int port = server.getLocalPort();
        server.close();
        try {
            new Socket(loopback, port);
        } catch (ConnectException e) {
            System.out.println(e.getMessage());
        }
        ServerSocket waiting = new ServerSocket(0, 1, loopback);
        Thread closer = new Thread(() -> {
            try {
                Thread.sleep(20);
                waiting.close();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
        closer.start();
        try {
            waiting.accept();
        } catch (SocketException e) {
            System.out.println("accept ends when its socket is closed");
        }
        closer.join();
        try (ServerSocket silent = new ServerSocket(0, 1, loopback); Socket s = new Socket()) {
            s.connect(new InetSocketAddress(loopback, silent.getLocalPort()), 1000);
            s.setSoTimeout(5);
            s.getInputStream().read();
        } catch (SocketTimeoutException e) {
            System.out.println(e.getMessage());
        }
        try {
            InetAddress.getByName("no.such.host.invalid");
        } catch (java.net.UnknownHostException e) {
            System.out.println("unknown host");
        }
        System.out.println(InetAddress.getByName("127.0.0.1") + " " + InetAddress.getByAddress(new byte[] {10, 0, 0, 1}).isSiteLocalAddress()
            + " " + new InetSocketAddress("127.0.0.1", 80).getPort() + " " + InetAddress.getByName("::1").getHostAddress());
    }
}
