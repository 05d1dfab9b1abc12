// vm: -XX:CompileThreshold=100
/**
 * Calls without a result while references wait on the operand stack: in a switch expression between the arguments of
 * another call. The receivers' classes make the compiler inline such calls behind tests, and a third class that comes
 * late takes the way around them, over which the waiting references may have moved.
 */
public class VoidCallsInOperands {
    interface Counter {
        void add(Object n);
    }

    static final class Plain implements Counter {
        long sum;

        @Override
        public void add(Object n) {
            sum += n.hashCode();
        }
    }

    static final class Doubling implements Counter {
        long sum;

        @Override
        public void add(Object n) {
            sum += n.hashCode() * 2L;
        }
    }

    static final class Keeping implements Counter {
        Object[] kept = new Object[16];
        int count;

        @Override
        public void add(Object n) {
            kept[count++ & 15] = n.toString() + count;
        }
    }

    static String join(String text, Object held, int n) {
        return text.length() + ":" + held + n;
    }

    static String one(Counter counter, String text, Object held, int n) {
        return join(text, held, switch (n & 3) {
            case 0 -> {
                counter.add(held);
                yield n + 1;
            }
            case 1 -> n;
            default -> {
                counter.add(text);
                counter.add("n" + n);
                yield n - 1;
            }
        });
    }

    public static void main(String[] args) {
        Plain plain = new Plain();
        Doubling doubling = new Doubling();
        Keeping keeping = new Keeping();
        long hash = 0;
        for (int i = 0; i < 40_000; i++) {
            Counter counter = i % 1000 == 998 ? keeping : i % 3 == 0 ? plain : doubling;
            hash = hash * 31 + one(counter, "text" + i % 13, i % 2 == 0 ? "held" : Integer.valueOf(i), i).hashCode();
        }
        System.out.println(hash + " " + plain.sum + " " + doubling.sum + " " + keeping.count + " " + keeping.kept[3]);
    }
}
