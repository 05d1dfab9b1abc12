public class SpecialInvocations {
    static class A {
        private String priv() {
            return "A.priv";
        }

        String callPriv() {
            return priv();
        }

        String over() {
            return "A.over";
        }

        static String stat() {
            return "A.stat";
        }

        protected Object covariant() {
            return "A";
        }
    }

    static class B extends A {
        private String priv() {
            return "B.priv";
        }

        @Override
        String over() {
            return "B+" + super.over();
        }

        static String stat() {
            return "B.stat";
        }

        @Override
        protected String covariant() {
            return "B";
        }
    }

    static class C extends B {
        @Override
        String over() {
            return "C+" + super.over();
        }

        String up() {
            java.util.function.Supplier<String> s = super::over;
            return s.get();
        }
    }

    interface X {
        int value();

        default int plus() {
            return value() + 1;
        }
    }

    interface Y extends X {
        @Override
        default int plus() {
            return X.super.plus() * 10;
        }
    }

    enum Size implements Y {
        SMALL, BIG {
            @Override
            public int plus() {
                return -1;
            }
        };

        @Override
        public int value() {
            return ordinal();
        }
    }

    static int calls(Object o, long l) {
        return 1;
    }

    static int calls(Object o, int i) {
        return 2;
    }

    static int calls(String s, long l) {
        return 3;
    }

    static int count;

    static int next() {
        return ++count;
    }

    static String order(int a, int b, int c) {
        return a + "" + b + c;
    }

    public static void main(String[] args) {
        A a = new C();
        System.out.println(a.callPriv() + " " + a.over() + " " + ((C) a).up() + " " + A.stat() + B.stat() + " " + a.covariant());
        System.out.println(Size.SMALL.plus() + " " + Size.BIG.plus());
        System.out.println(calls((Object) "s", 1) + " " + calls("s", 1L) + " " + calls((Object) null, 1L));
        System.out.println(order(next(), next(), next()) + " " + (next() + next() * next()));
        int[] array = {1, 2, 3};
        int i = 0;
        array[i] = i = 2;
        System.out.println(array[0] + " " + i);
        i = i++ + i++;
        System.out.println(i);
        String s = null;
        System.out.println(s instanceof String ? "yes" : "no");
        System.out.println(((A) null).stat());
        Object o = new int[0].getClass().getSuperclass();
        System.out.println(o);
        char c = 'x';
        c++;
        System.out.println(c + 1 + "" + c);
        System.out.println((byte) 0x80 >>> 1 | 'a' << 2 ^ ~5 & 0xff);
        System.out.println(true ^ false | true & false);
    }
}
