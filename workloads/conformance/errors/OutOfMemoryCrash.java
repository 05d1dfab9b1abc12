// vm: -Xmx16m -XX:+CrashOnOutOfMemoryError -XX:-CreateCoredumpOnCrash
// exit: 1
// compare: exit
import java.util.ArrayList;
import java.util.List;

/** The process ends at the first error, though it would be caught. */
public class OutOfMemoryCrash {
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
