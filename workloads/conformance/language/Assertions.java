// vm: -ea
public class Assertions {
    static int calls;

    static boolean probe(boolean b) {
        calls++;
        return b;
    }

    public static void main(String[] args) {
        assert probe(true);
        System.out.println(calls);
        try {
            assert probe(false) : "detail " + calls;
        } catch (AssertionError e) {
            System.out.println(e.getMessage());
        }
        try {
            assert probe(false);
        } catch (AssertionError e) {
            System.out.println(e.getMessage());
        }
        System.out.println(Assertions.class.desiredAssertionStatus() + " "
            + String.class.desiredAssertionStatus() + " " + calls);
        try {
            throw new AssertionError("text", new RuntimeException("cause"));
        } catch (AssertionError e) {
            System.out.println(e + " " + e.getCause());
        }
    }
}
