// vm: -XX:+UnlockDiagnosticVMOptions -XX:+ShowHiddenFrames
import java.util.function.BinaryOperator;

/** Frames of lambda expressions are shown if an option asks for them, and their failures are explained. */
public class HiddenFrames {
    public static void main(String[] args) {
        BinaryOperator<String> concat = String::concat;
        try {
            concat.apply(null, "text");
        } catch (NullPointerException e) {
            System.out.println(e.getMessage());
            StackTraceElement top = e.getStackTrace()[0];
            System.out.println(top.getClassName().startsWith("HiddenFrames$$Lambda") + " " + top.getMethodName());
        }
        long own = StackWalker.getInstance().walk(frames -> frames.filter(frame -> frame.getMethodName().equals("main")).count());
        System.out.println(own);
    }
}
