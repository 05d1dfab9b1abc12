// vm: -Xlog:disable
/** Stacks of any size that is asked for, or an error that can be caught. */
public class StackSizes {
    public static void main(String[] args) throws Exception {
        for (long bytes : new long[] {0, 1, 1 << 10, 100 << 10, 320 << 10, 64 << 20, -1, Long.MAX_VALUE - 1023}) {
            Thread thread = new Thread(null, () -> System.out.println("runs"), "sized", bytes);
            try {
                thread.start();
                thread.join();
            } catch (OutOfMemoryError e) {
                System.out.println(e.getMessage() + " " + thread.getState());
            }
        }
    }
}
