import java.util.concurrent.atomic.AtomicInteger;

public class Finalizers {
    static final AtomicInteger FINALIZED = new AtomicInteger();
    static volatile Object resurrected;

    static class Plain {
        final int[] payload = {1, 2, 3};

        @Override
        protected void finalize() {
            FINALIZED.addAndGet(payload[2] - 2);
        }
    }

    static class Phoenix {
        int lives = 1;

        @Override
        protected void finalize() {
            lives++;
            resurrected = this;
        }
    }

    static class Throwing {
        @Override
        protected void finalize() {
            FINALIZED.incrementAndGet();
            throw new RuntimeException("swallowed");
        }
    }

    static void make() {
        for (int i = 0; i < 50; i++) {
            new Plain();
        }
        new Phoenix();
        new Throwing();
    }

    public static void main(String[] args) throws Exception {
        make();
        for (int i = 0; i < 500 && (FINALIZED.get() < 51 || resurrected == null); i++) {
            System.gc();
            System.runFinalization();
            Thread.sleep(1);
        }
        System.out.println(FINALIZED.get() + " " + ((Phoenix) resurrected).lives);
        resurrected = null;
        for (int i = 0; i < 5; i++) {
            System.gc();
            System.runFinalization();
        }
        System.out.println("finalized once: " + (resurrected == null));
    }
}
