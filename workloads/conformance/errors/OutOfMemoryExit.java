// vm: -Xmx16m -XX:+ExitOnOutOfMemoryError
// exit: 3
// compare: stdout,exit
import java.util.ArrayList;
import java.util.List;

/** The process ends at the first error, though it would be caught. */
public class OutOfMemoryExit {
    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("not run")));
        System.out.println("begin");
        List<Object> all = new ArrayList<>();
        try {
            while (true) {
                all.add(new int[1000]);
            }
        } catch (OutOfMemoryError expected) {
            System.out.println("not caught");
        }
    }
}
