public class StaticInitFailure {
    static class Bad {
        static int value = 1 / zero();

        static int zero() {
            return 0;
        }
    }

    static class BadError {
        static {
            if (true) {
                throw new AssertionError("error goes through");
            }
        }
    }

    static class Dependent {
        static int x = Bad.value;
    }

    public static void main(String[] args) {
        for (int i = 0; i < 2; i++) {
            try {
                System.out.println(Bad.value);
            } catch (Throwable t) {
                System.out.println(t);
                System.out.println("  " + t.getCause());
            }
        }
        for (int i = 0; i < 2; i++) {
            try {
                new BadError();
            } catch (Throwable t) {
                System.out.println(t);
                System.out.println("  " + t.getCause());
            }
        }
        for (int i = 0; i < 2; i++) {
            try {
                System.out.println(Dependent.x);
            } catch (Throwable t) {
                System.out.println(t + " cause " + (t.getCause() != null));
            }
        }
        try {
            Class.forName("StaticInitFailure$Bad");
        } catch (Throwable t) {
            System.out.println(t);
        }
    }
}
