public class Exceptions {
    static class Custom extends Exception {
        final int code;

        Custom(int code, Throwable cause) {
            super("custom " + code, cause);
            this.code = code;
        }
    }

    static int finallyOverrides() {
        try {
            throw new RuntimeException("lost");
        } finally {
            return 7;
        }
    }

    static int finallyKeepsValue() {
        int x = 1;
        try {
            return x;
        } finally {
            x = 2;
        }
    }

    static String order(int n) {
        StringBuilder log = new StringBuilder();
        try {
            log.append("try ");
            if (n == 1) {
                throw new IllegalArgumentException("one");
            }
            if (n == 2) {
                throw new IllegalStateException("two");
            }
            if (n == 3) {
                return log.append("return ").toString();
            }
        } catch (IllegalArgumentException | IllegalStateException e) {
            log.append("catch ").append(e.getMessage()).append(' ');
        } finally {
            log.append("finally ");
        }
        return log.toString();
    }

    static void rethrow(int n) throws Custom {
        try {
            if (n > 0) {
                rethrow(n - 1);
            } else {
                throw new ArrayIndexOutOfBoundsException(3);
            }
        } catch (RuntimeException e) {
            throw new Custom(n, e);
        }
    }

    public static void main(String[] args) {
        System.out.println(finallyOverrides() + " " + finallyKeepsValue());
        for (int i = 0; i < 4; i++) {
            System.out.println(order(i));
        }
        try {
            rethrow(3);
        } catch (Custom c) {
            System.out.println(c.code + " " + c.getMessage() + " " + c.getCause());
        }
        int count = 0;
        outer:
        for (int i = 0; i < 10; i++) {
            try {
                for (int j = 0; ; j++) {
                    try {
                        if (j == 3) {
                            continue outer;
                        }
                        if (i == 5) {
                            break outer;
                        }
                    } finally {
                        count++;
                    }
                }
            } finally {
                count += 100;
            }
        }
        System.out.println(count);
        try {
            try {
                throw new Error("inner");
            } finally {
                System.out.println("unwinding");
            }
        } catch (Throwable t) {
            System.out.println(t);
        }
        try {
            throw null;
        } catch (NullPointerException e) {
            System.out.println("threw null");
        }
        Throwable t = new Exception("a", new Error("b", new RuntimeException((String) null)));
        while (t != null) {
            System.out.println(t);
            t = t.getCause();
        }
        try {
            new Exception("x").initCause(null).initCause(new Error());
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
    }
}
