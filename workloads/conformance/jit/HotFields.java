// vm: -Xbatch -XX:CompileThreshold=200
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;

/**
 * Fields that are read again and again: a compiler may remember what they held, until other code may have written them.
 * Other names of the same object, calls, loops, locks, volatile variables, new objects and collections come in between.
 */
public class HotFields {
    static class Box {
        int number;
        byte small;
        Box next;
        long wide;
        volatile int version;

        Box(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }

        void set(int number) {
            this.number = number;
        }

        Box next() {
            return next;
        }
    }

    static class Counting extends Box {
        Counting(int number) {
            super(number);
        }

        @Override
        int number() {
            return number++;
        }
    }

    static Box current = new Box(1);
    static int total;
    static final VarHandle NUMBER;

    static {
        try {
            NUMBER = MethodHandles.lookup().findVarHandle(Box.class, "number", int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Box a = new Box(3);
        Box b = new Box(5);
        long sum = 0;
        for (int round = 0; round < 4000; round++) {
            a.next = round % 3 == 0 ? a : b;
            b.next = round % 5 == 0 ? null : a;
            sum = sum * 31 + names(a, round % 2 == 0 ? a : b, round) + smaller(a, round);
            sum = sum * 31 + ways(a, b, round) + rounds(a, round % 7) + statics(round);
            sum = sum * 31 + objects(a, round) + calls(round % 4 == 0 ? new Counting(round) : b) + handles(a, b);
            sum = sum * 31 + locked(a, b) + leaving(a, round % 1000 == 999 ? null : b);
            sum = sum * 31 + arrays(new Box[] {a, b, a}, round % 3);
        }
        System.out.println(Long.toHexString(sum));
        System.out.println(handedOver());
        System.out.println(published());
        System.out.println(locking());
    }

    /** Two names, perhaps of one object. */
    static int names(Box a, Box b, int round) {
        int before = a.number;
        b.number = round;
        a.number += b.number;
        b.next = a.next == null ? b : a.next;
        return before + a.number * 3 + b.number * 5 + (a.next == b.next ? 1 : 0) + (a.next == b ? 2 : 0);
    }

    /** The stored value has more bits than the one that is read again. */
    static int smaller(Box a, int round) {
        a.small = (byte) (round * 77);
        int read = a.small;
        a.wide = (long) read << 33;
        return read + (int) (a.wide >> 31) + a.small;
    }

    /** Ways that meet, one of which has stored. */
    static int ways(Box a, Box b, int round) {
        int sum = a.number + a.next.number;
        if ((round & 1) == 0) {
            a.number = 7;
        } else if ((round & 2) == 0) {
            a.next = b;
        }
        sum = sum * 31 + a.number + a.next.number;
        switch (round % 5) {
            case 1:
                b.set(round);
                break;
            case 2:
                a.next.number++;
                break;
            case 3:
                a = b;
                break;
            default:
        }
        return sum * 31 + a.number + b.number + a.next().number;
    }

    /** A value that a loop stores holds in its next round. */
    static int rounds(Box a, int count) {
        int sum = a.number;
        for (int i = 0; i < count; i++) {
            sum = sum * 31 + a.number;
            a.number = sum & 1023;
        }
        Box at = a;
        int steps = 0;
        while (at.next != null && steps < 5) {
            sum += at.number + at.next.number;
            at = at.next;
            steps++;
        }
        return sum + a.number;
    }

    static int statics(int round) {
        int before = total + current.number;
        total += round;
        current.number = total & 255;
        for (int i = 0; i < 5; i++) {
            before = before * 31 + total;
            total = before >> 3 & 4095;
        }
        count(round);
        if (round % 100 == 0) {
            current = new Box(round);
        }
        return before + total + current.number;
    }

    private static void count(int round) {
        if (total == round) {
            throw new IllegalStateException("never with these numbers");
        }
        total += 3;
        current.wide++;
    }

    /** Collections may move what is remembered, whether a local has it or not. */
    static int objects(Box a, int round) {
        a.next = new Box(round & 15);
        int unnamed = a.next.number;
        int[] large = new int[20_000];
        large[unnamed] = a.next.number + 1;
        if (large[a.next.number] != unnamed + 1) {
            return -1;
        }
        Box next = a.next;
        Box fresh = new Box(round);
        fresh.next = a.next;
        int[] filler = new int[200 + (round & 63)];
        filler[round & 63] = a.next == next ? fresh.number : -1;
        Box other = new Box(filler[round & 63]);
        other.next = fresh.next;
        return other.number + other.next.number + (fresh.next == a.next ? 1 : 0) + a.number;
    }

    static int calls(Box box) {
        int sum = box.number + box.number();
        return sum * 31 + box.number + box.number() * 3 + box.number;
    }

    static int handles(Box a, Box b) {
        int sum = a.number + b.number;
        NUMBER.setVolatile(a, sum & 511);
        sum += a.number;
        NUMBER.getAndAdd(b, 3);
        sum += b.number;
        NUMBER.compareAndSet(a, a.number, 11);
        return sum * 31 + a.number;
    }

    static int locked(Box a, Box b) {
        int sum = a.number;
        synchronized (a) {
            sum += a.number;
            a.number = sum & 127;
        }
        synchronized (b) {
            return sum * 31 + a.number + b.number;
        }
    }

    /** Stores have happened when an exception is thrown behind them. */
    static int leaving(Box a, Box b) {
        int before = a.number;
        a.number = before + 1;
        try {
            return a.number + b.number;
        } catch (NullPointerException e) {
            return a.number * 7 + before;
        }
    }

    static int arrays(Box[] boxes, int index) {
        int sum = boxes[index].number + boxes[0].number;
        boxes[index] = new Box(sum & 63);
        boxes[index].number++;
        return sum * 31 + boxes[0].number + boxes[index].number;
    }

    /** Values that another thread wrote before a volatile store are read after the volatile load. */
    static int handedOver() throws InterruptedException {
        Box box = new Box(0);
        Thread writer = new Thread(() -> {
            for (int i = 1; i <= 20_000; i++) {
                while (box.version % 2 != 0) {
                    Thread.onSpinWait();
                }
                box.number = i;
                box.wide = -i;
                box.version++;
            }
        });
        writer.start();
        int wrong = 0;
        for (int i = 1; i <= 20_000; i++) {
            wrong += take(box, i);
        }
        writer.join();
        return wrong;
    }

    private static int take(Box box, int expected) {
        int old = box.number;
        while (box.version % 2 == 0) {
            Thread.onSpinWait();
        }
        int wrong = box.number == expected && box.wide == -expected && old >= expected - 1 ? 0 : 1;
        box.version++;
        return wrong;
    }

    /** A value read before a volatile load may be older than one read after it, and must not be reused. */
    static int published() throws InterruptedException {
        Box box = new Box(0);
        Thread writer = new Thread(() -> {
            for (int i = 1; i <= 300_000; i++) {
                box.number = i;
                box.version = i;
            }
        });
        writer.start();
        int wrong = 0;
        int seen = 0;
        while (seen < 300_000) {
            long pair = pair(box);
            seen = (int) (pair >>> 32);
            wrong += (int) pair < seen ? 1 : 0;
        }
        writer.join();
        return wrong;
    }

    private static long pair(Box box) {
        int before = box.number;
        int version = box.version;
        return (long) version << 32 | (box.number | before & 0);
    }

    /** The same under a lock. */
    static int locking() throws InterruptedException {
        Box box = new Box(0);
        Thread writer = new Thread(() -> {
            for (int i = 0; i < 20_000; i++) {
                synchronized (box) {
                    box.number++;
                    box.wide++;
                }
            }
        });
        writer.start();
        int last = 0;
        int backwards = 0;
        while (last < 20_000) {
            int seen = box.number;
            synchronized (box) {
                if (box.number < seen || box.number < last || box.number != box.wide) {
                    backwards++;
                }
                last = box.number;
            }
        }
        writer.join();
        return last + backwards;
    }
}
