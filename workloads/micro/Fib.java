/** Calls: the naive Fibonacci numbers. Argument: which (default 30). */
public class Fib {
    static int fib(int n) {
        return n < 2 ? n : fib(n - 1) + fib(n - 2);
    }

    public static void main(String[] args) {
        System.out.println(fib(args.length > 0 ? Integer.parseInt(args[0]) : 30));
    }
}
