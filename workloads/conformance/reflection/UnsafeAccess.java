import java.lang.reflect.Field;
import sun.misc.Unsafe;

public class UnsafeAccess {
    int number = 5;
    long wide = 6;
    Object reference = "r";
    static Object fixed = "static";

    static class NoConstructor {
        int x = 9;

        NoConstructor() {
            throw new AssertionError("not called");
        }
    }

    /** Any byte but 0 is true. */
    static boolean isTrue(Unsafe u, long address) {
        return u.getBoolean(null, address);
    }

    @SuppressWarnings({"deprecation", "removal"})
    public static void main(String[] args) throws Exception {
        Field f = Unsafe.class.getDeclaredField("theUnsafe");
        f.setAccessible(true);
        Unsafe u = (Unsafe) f.get(null);
        long flag = u.allocateMemory(8);
        u.putByte(flag, (byte) 2);
        int trues = 0;
        for (int i = 0; i < 20_000; i++) {
            trues += (isTrue(u, flag) ? 1 : 0) + (u.getBooleanVolatile(null, flag) ? 1 : 0);
        }
        System.out.println(trues);
        u.freeMemory(flag);
        UnsafeAccess o = new UnsafeAccess();
        long number = u.objectFieldOffset(UnsafeAccess.class.getDeclaredField("number"));
        long wide = u.objectFieldOffset(UnsafeAccess.class.getDeclaredField("wide"));
        long reference = u.objectFieldOffset(UnsafeAccess.class.getDeclaredField("reference"));
        System.out.println(u.getInt(o, number) + " " + u.getLong(o, wide) + " " + u.getObject(o, reference));
        u.putInt(o, number, 50);
        u.putLongVolatile(o, wide, -1);
        u.putOrderedObject(o, reference, "new");
        System.out.println(o.number + " " + o.wide + " " + o.reference + " " + u.compareAndSwapInt(o, number, 50, 51) + " "
            + u.compareAndSwapObject(o, reference, "new", "newer") + " " + u.getAndAddLong(o, wide, 10) + " " + u.getAndSetObject(o, reference, "last"));
        System.out.println(o.number + " " + o.wide + " " + o.reference);
        System.out.println(((NoConstructor) u.allocateInstance(NoConstructor.class)).x);
        int[] array = {1, 2, 3};
        long base = u.arrayBaseOffset(int[].class);
        long scale = u.arrayIndexScale(int[].class);
        u.putInt(array, base + scale, 20);
        System.out.println(array[1] + " " + scale + " " + u.arrayIndexScale(long[].class) + " " + u.arrayIndexScale(byte[].class));
        Object[] objects = {"a", "b"};
        System.out.println(u.getObjectVolatile(objects, u.arrayBaseOffset(Object[].class) + u.arrayIndexScale(Object[].class)));
        Field fixedField = UnsafeAccess.class.getDeclaredField("fixed");
        System.out.println(u.getObject(u.staticFieldBase(fixedField), u.staticFieldOffset(fixedField)));
        long memory = u.allocateMemory(64);
        u.setMemory(memory, 64, (byte) 1);
        u.putLong(memory + 8, 0x1122334455667788L);
        System.out.println(u.getInt(memory) + " " + Long.toHexString(u.getLong(memory + 8)) + " " + u.getByte(memory + 8));
        u.copyMemory(memory + 8, memory + 16, 8);
        memory = u.reallocateMemory(memory, 128);
        System.out.println(Long.toHexString(u.getLong(memory + 16)) + " " + u.addressSize() + " " + u.pageSize());
        u.freeMemory(memory);
        try {
            u.throwException(new java.io.IOException("sneaky"));
        } catch (Exception e) {
            System.out.println(e);
        }
        u.fullFence();
    }
}
