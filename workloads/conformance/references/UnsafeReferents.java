import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

// vm: -XX:InitiatingHeapOccupancyPercent=1 -XX:MaxTenuringThreshold=0
// zeal

/** Objects that only weak references lead to, taken out of them by Unsafe while collections come and go. */
public class UnsafeReferents {
    static final int COUNT = 3000;

    static class Node {
        final int number;
        final int[] weight = new int[20];

        Node(int number) {
            this.number = number;
            weight[19] = number;
        }
    }

    static Unsafe unsafe;
    static long referent;

    static Object take(Object reference) {
        return unsafe.getObject(reference, referent);
    }

    static Object takeVolatile(Object reference) {
        return unsafe.getObjectVolatile(reference, referent);
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        unsafe = (Unsafe) field.get(null);
        referent = unsafe.objectFieldOffset(Reference.class.getDeclaredField("referent"));
        WeakReference<Node>[] weak = new WeakReference[COUNT];
        Node[] strong = new Node[COUNT];
        for (int i = 0; i < COUNT; i++) {
            strong[i] = new Node(i);
            weak[i] = new WeakReference<>(strong[i]);
        }
        long wrong = 0;
        Object[] garbage = new Object[100];
        for (int round = 0; round < 400; round++) {
            for (int i = 0; i < COUNT; i++) {
                garbage[i % garbage.length] = new byte[300];
                int turn = (i + round) % 4;
                if (turn == 0) {
                    // For a while no other reference leads to it.
                    strong[i] = null;
                } else if (turn == 1 && strong[i] == null) {
                    Node found = (Node) (i % 8 < 4 ? take(weak[i]) : takeVolatile(weak[i]));
                    if (found == null) {
                        found = new Node(i);
                        weak[i] = new WeakReference<>(found);
                    }
                    strong[i] = found;
                } else if (turn > 1) {
                    wrong += strong[i].number == i && strong[i].weight[19] == i ? 0 : 1;
                }
            }
        }
        System.out.println(wrong);
        Reference.reachabilityFence(garbage);
    }
}
