public class FieldsAndHiding {
    static class A {
        int x = 1;
        static int s = 10;
        protected long wide = 1L << 40;

        int x() {
            return x;
        }

        static String who() {
            return "A";
        }
    }

    static class B extends A {
        int x = 2;
        static int s = 20;
        byte b = (byte) 200;
        char c = (char) 70000;
        short sh = (short) 40000;
        boolean z = true;
        float f = 1.25f;
        double d = 2.5;
        volatile long v = -1;
        final int[] array = {1, 2};

        int x() {
            return x + super.x + super.x();
        }

        static String who() {
            return "B";
        }
    }

    public static void main(String[] args) {
        B b = new B();
        A a = b;
        System.out.println(a.x + " " + b.x + " " + ((A) b).x + " " + a.x() + " " + a.s + " " + b.s);
        System.out.println(A.who() + B.who());
        System.out.println(b.b + " " + (int) b.c + " " + b.sh + " " + b.z + " " + b.f + " " + b.d + " " + b.v + " " + b.wide);
        b.b++;
        b.c += 5;
        b.sh -= 10;
        b.z ^= true;
        b.f *= 3;
        b.d /= 4;
        b.v <<= 3;
        b.wide += b.b;
        b.array[1] *= 7;
        System.out.println(b.b + " " + (int) b.c + " " + b.sh + " " + b.z + " " + b.f + " " + b.d + " " + b.v + " " + b.wide + " " + b.array[1]);
        a.x = 50;
        A.s += 5;
        System.out.println(a.x + " " + b.x + " " + B.s + " " + A.s + " " + b.x());
        a = new A();
        System.out.println(a.x + a.x());
        Object[] slots = new Object[300];
        for (int i = 0; i < slots.length; i++) {
            slots[i] = new B();
            ((B) slots[i]).x = i;
        }
        int sum = 0;
        for (Object o : slots) {
            sum += ((B) o).x + ((A) o).x;
        }
        System.out.println(sum);
    }
}
