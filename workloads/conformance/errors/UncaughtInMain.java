// exit: 1
// compare: stdout,stderr,exit
public class UncaughtInMain {
    static class Failure extends RuntimeException {
        Failure(String message, Throwable cause) {
            super(message, cause);
        }
    }

    static void inner(int n) {
        if (n == 0) {
            throw new IllegalArgumentException("the cause");
        }
        inner(n - 1);
    }

    public static void main(String[] args) {
        System.out.println("before");
        try {
            inner(2);
        } catch (IllegalArgumentException e) {
            throw new Failure("the failure", e);
        }
    }
}
