// stdin: first line\nsecond\n\nlast without end
// compare: stdout,stderr
import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;

public class StandardStreams {
    public static void main(String[] args) throws Exception {
        System.err.println("to stderr");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println((char) in.read() + in.readLine());
        int n = 0;
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            System.out.println(++n + ":" + line);
        }
        System.out.println(in.read());
        PrintStream old = System.out;
        ByteArrayOutputStream captured = new ByteArrayOutputStream();
        System.setOut(new PrintStream(captured));
        System.out.print("captured");
        System.setOut(old);
        System.out.println(captured.size());
        System.out.print('c');
        System.out.print(1);
        System.out.print(2L);
        System.out.print(1.5f);
        System.out.print(2.5);
        System.out.print(new char[] {'x', 'y'});
        System.out.print((Object) null);
        System.out.print((String) null);
        System.out.print(true);
        System.out.println();
        System.out.write('Z');
        System.out.write("bytes\n".getBytes());
        System.out.append("appended").append('\n').flush();
        System.out.println("\u00e9\u20ac");
        System.err.printf("%s%n", "formatted");
        System.out.println(System.console() == null);
        System.out.println(System.out.checkError());
    }
}
