/** The cost of every start. */
public class Startup {
    public static void main(String[] args) {
        System.out.println("Hello, world");
    }
}
