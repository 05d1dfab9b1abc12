import java.io.IOException;

/** Hello world that ends when its input does, so that its memory can be looked at before. */
public class HelloAndWait {
    public static void main(String[] args) throws IOException {
        System.out.println("Hello, world");
        while (System.in.read() >= 0) {
            // Only the end counts.
        }
    }
}
