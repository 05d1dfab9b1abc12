// exit: 255
public class NegativeExit {
    public static void main(String[] args) {
        System.out.println("minus one");
        System.exit(-1);
    }
}
