import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;

public class GenericsBridges {
    static abstract class Box<T extends Comparable<T>> {
        T value;

        abstract T get();

        void set(T t) {
            value = t;
        }

        boolean larger(Box<T> other) {
            return value.compareTo(other.value) > 0;
        }
    }

    static class IntBox extends Box<Integer> {
        @Override
        Integer get() {
            return value + 1;
        }

        @Override
        void set(Integer i) {
            super.set(i * 2);
        }
    }

    static class Base implements Cloneable {
        Object self() {
            return "base";
        }
    }

    static class Derived extends Base {
        @Override
        String self() {
            return "derived " + super.self();
        }

        @Override
        public Derived clone() throws CloneNotSupportedException {
            return (Derived) super.clone();
        }
    }

    @SuppressWarnings({"unchecked", "rawtypes"})
    public static void main(String[] args) throws Exception {
        Box<Integer> box = new IntBox();
        box.set(20);
        System.out.println(box.get() + " " + box.larger(box));
        Box raw = box;
        try {
            raw.set("text");
        } catch (ClassCastException e) {
            System.out.println(e.getMessage());
        }
        Base b = new Derived();
        System.out.println(b.self());
        System.out.println(((Derived) b).clone().self());
        List<String> names = new ArrayList<>();
        for (Method m : IntBox.class.getDeclaredMethods()) {
            names.add(m.getName() + " " + m.isBridge() + " " + m.getReturnType().getSimpleName()
                + " " + Arrays.toString(m.getParameterTypes()));
        }
        names.sort(Comparator.naturalOrder());
        System.out.println(names);
        List polluted = new ArrayList<Integer>();
        polluted.add("not an integer");
        List<Integer> ints = polluted;
        try {
            Integer i = ints.get(0);
            System.out.println(i);
        } catch (ClassCastException e) {
            System.out.println("heap pollution: " + e.getMessage());
        }
        Object o = ints.get(0);
        System.out.println(o);
        System.out.println(GenericsBridges.<Integer>max(Arrays.asList(3, 9, 2)));
    }

    static <T extends Comparable<? super T>> T max(List<? extends T> list) {
        T best = list.get(0);
        for (T t : list) {
            if (t.compareTo(best) > 0) {
                best = t;
            }
        }
        return best;
    }
}
