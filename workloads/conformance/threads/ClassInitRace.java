public class ClassInitRace {
    static class Slow {
        static int inits;
        static final int VALUE;

        static {
            inits++;
            try {
                Thread.sleep(20);
            } catch (InterruptedException e) {
                throw new AssertionError();
            }
            VALUE = 7;
        }

        static int value() {
            return VALUE;
        }
    }

    static class Failing {
        static int attempts;

        static {
            attempts++;
            if (attempts == 1) {
                throw new IllegalStateException("once");
            }
        }

        static void touch() {}
    }

    static class Holder {
        static final Holder INSTANCE = new Holder();
        final int[] data = {1, 2, 3};
    }

    public static void main(String[] args) throws Exception {
        int[] results = new int[8];
        Thread[] threads = new Thread[8];
        for (int t = 0; t < 8; t++) {
            int id = t;
            threads[t] = new Thread(() -> results[id] = Slow.value() + Holder.INSTANCE.data[2]);
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        int sum = 0;
        for (int r : results) {
            sum += r;
        }
        System.out.println(sum + " " + Slow.inits);
        int[] errors = new int[3];
        for (int t = 0; t < 8; t++) {
            threads[t] = new Thread(() -> {
                try {
                    Failing.touch();
                    synchronized (errors) {
                        errors[0]++;
                    }
                } catch (ExceptionInInitializerError e) {
                    synchronized (errors) {
                        errors[1]++;
                    }
                } catch (NoClassDefFoundError e) {
                    synchronized (errors) {
                        errors[2]++;
                    }
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(errors[0] + " " + errors[1] + " " + errors[2]);
    }
}
