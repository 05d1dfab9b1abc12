import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

public class InnerClasses {
    private int value = 1;

    class Inner {
        private int value = 2;

        class Deep {
            int value = 3;

            String all() {
                return value + " " + Inner.this.value + " " + InnerClasses.this.value;
            }

            void bump() {
                InnerClasses.this.value++;
                Inner.this.value += 10;
            }
        }
    }

    static class Nested {
        private static int count;
        private final int id = ++count;

        private int secret() {
            return id * 100;
        }
    }

    interface Shape {
        double area();
    }

    static List<IntSupplier> suppliers() {
        List<IntSupplier> out = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            final int k = i;
            class Local implements IntSupplier {
                int calls;

                public int getAsInt() {
                    return k * 10 + calls++;
                }
            }
            out.add(new Local());
        }
        return out;
    }

    class Sub extends Inner {
        Sub() {
            InnerClasses.this.super();
        }
    }

    public static void main(String[] args) {
        InnerClasses outer = new InnerClasses();
        InnerClasses.Inner inner = outer.new Inner();
        Inner.Deep deep = inner.new Deep();
        System.out.println(deep.all());
        deep.bump();
        System.out.println(deep.all());
        System.out.println(new Nested().secret() + new Nested().secret());
        for (IntSupplier s : suppliers()) {
            System.out.print(s.getAsInt() + " " + s.getAsInt() + " ");
        }
        System.out.println();
        final double[] side = {2.5};
        Shape square = new Shape() {
            int calls = 0;

            {
                calls = 5;
            }

            @Override
            public double area() {
                return side[0] * side[0] + calls++;
            }
        };
        System.out.println(square.area() + " " + square.area());
        System.out.println(square.getClass().getName() + " " + deep.getClass().getName() + " "
            + suppliers().get(0).getClass().getName());
        System.out.println(square.getClass().isAnonymousClass() + " "
            + suppliers().get(0).getClass().isLocalClass() + " " + Inner.class.isMemberClass());
        System.out.println(outer.new Sub().getClass().getSuperclass());
        System.out.println(Inner.Deep.class.getEnclosingClass() + " "
            + square.getClass().getEnclosingMethod());
    }
}
