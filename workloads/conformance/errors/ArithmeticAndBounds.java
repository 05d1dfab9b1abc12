public class ArithmeticAndBounds {
    interface Body {
        void run() throws Exception;
    }

    static void check(Body b) {
        try {
            b.run();
            System.out.println("nothing thrown");
        } catch (Exception e) {
            System.out.println(e);
        }
    }

    public static void main(String[] args) {
        int zero = args.length;
        int[] a = new int[3];
        String s = "abc";
        java.util.List<Integer> list = java.util.List.of(1, 2);
        check(() -> System.out.println(1 / zero));
        check(() -> System.out.println(1L % zero));
        check(() -> System.out.println(1.0 / zero + " " + 0.0 % zero));
        check(() -> a[3] = 1);
        check(() -> a[-1] = 1);
        check(() -> System.out.println(a[Integer.MIN_VALUE]));
        check(() -> new java.util.ArrayList<>(-1));
        check(() -> list.get(2));
        check(() -> s.charAt(3));
        check(() -> s.substring(4));
        check(() -> s.codePointAt(-1));
        check(() -> new int[zero - 1].clone());
        check(() -> Math.multiplyExact(1 << 20, 1 << 20));
        check(() -> Math.negateExact(Integer.MIN_VALUE));
        check(() -> Long.parseLong("9223372036854775808"));
        check(() -> java.util.Objects.checkIndex(5, 3));
        check(() -> java.util.Objects.checkFromToIndex(2, 1, 3));
        check(() -> Integer.parseInt(""));
        check(() -> Double.parseDouble("x"));
        check(() -> Enum.valueOf(Thread.State.class, "NONE"));
        check(() -> java.util.Collections.emptyList().iterator().next());
        check(() -> new java.util.ArrayDeque<>().pop());
        check(() -> Class.forName("nope"));
        check(() -> Thread.sleep(-1));
        check(() -> new Thread(() -> {}).setPriority(0));
        check(() -> ((Object) "s").wait());
        check(() -> System.arraycopy(a, 0, a, 2, 5));
        check(() -> java.nio.ByteBuffer.allocate(1).putInt(1));
        check(() -> String.format("%d", "x"));
        check(() -> Runtime.getRuntime().exec(""));
        check(() -> java.util.concurrent.Executors.newFixedThreadPool(0));
    }
}
