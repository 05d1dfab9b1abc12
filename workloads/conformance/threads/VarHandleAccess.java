import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.Arrays;

public class VarHandleAccess {
    int number = 1;
    volatile long wide = 2;
    String text = "t";
    static double shared = 1.5;
    byte tiny = 1;
    boolean flag;

    public static void main(String[] args) throws Exception {
        MethodHandles.Lookup lookup = MethodHandles.lookup();
        VarHandle number = lookup.findVarHandle(VarHandleAccess.class, "number", int.class);
        VarHandle wide = lookup.findVarHandle(VarHandleAccess.class, "wide", long.class);
        VarHandle text = lookup.findVarHandle(VarHandleAccess.class, "text", String.class);
        VarHandle shared = lookup.findStaticVarHandle(VarHandleAccess.class, "shared", double.class);
        VarHandle tiny = lookup.findVarHandle(VarHandleAccess.class, "tiny", byte.class);
        VarHandle flag = lookup.findVarHandle(VarHandleAccess.class, "flag", boolean.class);
        VarHandleAccess o = new VarHandleAccess();
        System.out.println((int) number.get(o) + " " + (int) number.getAndAdd(o, 5) + " " + number.compareAndSet(o, 6, 7)
            + " " + (int) number.compareAndExchange(o, 7, 8) + " " + (int) number.getVolatile(o) + " " + (int) number.getAndBitwiseOr(o, 3));
        wide.setRelease(o, 10L);
        System.out.println((long) wide.getAcquire(o) + " " + (long) wide.getAndSet(o, 11L) + " " + (long) wide.getOpaque(o));
        System.out.println(text.compareAndSet(o, "t", "u") + " " + (String) text.getAndSet(o, "v") + " " + (String) text.get(o)
            + " " + text.weakCompareAndSetPlain(o, "no", "x"));
        System.out.println((double) shared.getAndSet(2.5) + " " + (double) shared.get() + " " + (double) shared.getAndAdd(1.0));
        System.out.println((byte) tiny.getAndAdd(o, (byte) 127) + " " + o.tiny + " " + flag.compareAndSet(o, false, true) + " " + o.flag);
        VarHandle ints = MethodHandles.arrayElementVarHandle(int[].class);
        int[] array = {1, 2, 3};
        ints.setVolatile(array, 1, 20);
        System.out.println(ints.compareAndSet(array, 2, 3, 30) + " " + Arrays.toString(array));
        VarHandle strings = MethodHandles.arrayElementVarHandle(String[].class);
        String[] words = {"a", "b"};
        System.out.println((String) strings.getAndSet(words, 0, "z") + words[0]);
        VarHandle view = MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
        byte[] bytes = new byte[16];
        view.set(bytes, 3, 0x0102030405060708L);
        System.out.println(Arrays.toString(bytes) + " " + (long) view.get(bytes, 3));
        try {
            ints.get(array, 9);
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        try {
            number.get((VarHandleAccess) null);
        } catch (NullPointerException e) {
            System.out.println("null");
        }
        try {
            String s = (String) number.get(o);
        } catch (java.lang.invoke.WrongMethodTypeException e) {
            System.out.println("wrong type");
        }
        System.out.println(number.varType() + " " + number.coordinateTypes() + " " + number.isAccessModeSupported(VarHandle.AccessMode.GET_AND_ADD)
            + " " + text.isAccessModeSupported(VarHandle.AccessMode.GET_AND_ADD));
        Thread[] threads = new Thread[3];
        for (int t = 0; t < 3; t++) {
            threads[t] = new Thread(() -> {
                for (int i = 0; i < 300; i++) {
                    number.getAndAdd(o, 1);
                }
            });
            threads[t].start();
        }
        for (Thread t : threads) {
            t.join();
        }
        System.out.println(o.number);
        VarHandle.fullFence();
    }
}
