public class ObjectMethods {
    static class P implements Cloneable {
        int a = 1;
        int[] data = {1, 2};
        P next;

        @Override
        protected Object clone() throws CloneNotSupportedException {
            return super.clone();
        }

        @Override
        public int hashCode() {
            return a * 7;
        }

        @Override
        public boolean equals(Object o) {
            return o instanceof P p && p.a == a;
        }
    }

    static class NotCloneable {
        Object copy() throws CloneNotSupportedException {
            return clone();
        }
    }

    public static void main(String[] args) throws Exception {
        P p = new P();
        p.next = p;
        P q = (P) p.clone();
        q.a = 5;
        q.data[0] = 77;
        System.out.println(p.a + " " + p.data[0] + " " + (q.next == p) + " " + q.getClass());
        try {
            new NotCloneable().copy();
        } catch (CloneNotSupportedException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(p.equals(q) + " " + p.hashCode() + " " + p);
        Object o = new Object();
        System.out.println((o.hashCode() == o.hashCode()) + " " + (o.hashCode() == System.identityHashCode(o))
            + " " + System.identityHashCode(null) + " " + o.equals(o));
        System.out.println(o.toString().equals("java.lang.Object@" + Integer.toHexString(o.hashCode())));
        try {
            o.wait();
        } catch (IllegalMonitorStateException e) {
            System.out.println(e.getMessage());
        }
        try {
            o.notify();
        } catch (IllegalMonitorStateException e) {
            System.out.println(e.getMessage());
        }
        Object[] array = {p, "x", new int[] {1}};
        Object[] copy = array.clone();
        System.out.println((copy[0] == p) + " " + (copy != array));
        System.out.println(int.class + " " + void.class + " " + String[].class + " " + new int[0][0].getClass().getName()
            + " " + Integer.TYPE.getName() + " " + P.class.getSimpleName() + " " + String[].class.getSimpleName());
        int seen = 0;
        java.util.Set<Integer> hashes = new java.util.HashSet<>();
        for (int i = 0; i < 500; i++) {
            hashes.add(new Object().hashCode());
        }
        System.out.println(hashes.size() > 450);
    }
}
