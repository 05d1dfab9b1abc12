// compare: stdout,stderr,exit
public class UncaughtInThread {
    public static void main(String[] args) throws Exception {
        Thread t = new Thread(() -> {
            int[] a = {};
            a[0]++;
        }, "the thread");
        t.start();
        t.join();
        System.out.println("main goes on");
    }
}
