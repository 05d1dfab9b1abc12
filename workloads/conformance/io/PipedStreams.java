import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.PipedInputStream;
import java.io.PipedOutputStream;
import java.io.PipedReader;
import java.io.PipedWriter;

public class PipedStreams {
    public static void main(String[] args) throws Exception {
        PipedOutputStream out = new PipedOutputStream();
        PipedInputStream in = new PipedInputStream(out, 64);
        Thread writer = new Thread(() -> {
            try (out) {
                for (int i = 0; i < 1000; i++) {
                    out.write(i);
                }
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        writer.start();
        long sum = 0;
        int n = 0;
        for (int b = in.read(); b >= 0; b = in.read()) {
            sum += b;
            n++;
        }
        writer.join();
        System.out.println(n + " " + sum);
        PipedReader reader = new PipedReader();
        PipedWriter text = new PipedWriter(reader);
        Thread t = new Thread(() -> {
            try (text) {
                text.write("piped characters \u20ac");
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        t.start();
        StringBuilder sb = new StringBuilder();
        for (int c = reader.read(); c >= 0; c = reader.read()) {
            sb.append((char) c);
        }
        t.join();
        System.out.println(sb);
        PipedInputStream lonely = new PipedInputStream();
        try {
            lonely.read();
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
        PipedOutputStream held = new PipedOutputStream();
        PipedInputStream empty = new PipedInputStream(held);
        Thread.currentThread().interrupt();
        try {
            empty.read();
        } catch (InterruptedIOException e) {
            System.out.println("interrupted");
        }
        held.write(1);
        held.close();
        System.out.println(empty.read() + " " + empty.read());
    }
}
