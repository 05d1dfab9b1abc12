import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.SerializedLambda;
import java.lang.reflect.Method;
import java.util.Comparator;
import java.util.function.BiFunction;
import java.util.function.Supplier;

public class SerializableLambdas {
    interface Op extends Serializable {
        int apply(int x);
    }

    static Object copy(Object o) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        new ObjectOutputStream(bytes).writeObject(o);
        return new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray())).readObject();
    }

    static int times(int x) {
        return x * 100;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Exception {
        int captured = 7;
        String text = "captured text";
        Op plain = x -> x + 1;
        Op capturing = x -> x * captured + text.length();
        Op reference = SerializableLambdas::times;
        System.out.println(((Op) copy(plain)).apply(1) + " " + ((Op) copy(capturing)).apply(2) + " " + ((Op) copy(reference)).apply(3));
        Supplier<String> s = (Supplier<String> & Serializable) () -> text + captured;
        System.out.println(((Supplier<String>) copy(s)).get());
        Comparator<String> c = (Comparator<String> & Serializable) String::compareToIgnoreCase;
        System.out.println(((Comparator<String>) copy(c)).compare("A", "a"));
        BiFunction<Integer, Integer, Integer> f = (BiFunction<Integer, Integer, Integer> & Serializable) Integer::sum;
        System.out.println(((BiFunction<Integer, Integer, Integer>) copy(f)).apply(20, 22));
        Method replace = capturing.getClass().getDeclaredMethod("writeReplace");
        replace.setAccessible(true);
        SerializedLambda form = (SerializedLambda) replace.invoke(capturing);
        System.out.println(form.getCapturingClass() + " " + form.getFunctionalInterfaceMethodName() + " " + form.getCapturedArgCount() + " "
            + form.getCapturedArg(1) + " " + form.getImplMethodSignature());
        Runnable not = () -> {};
        try {
            copy(not);
        } catch (java.io.NotSerializableException e) {
            System.out.println("not serializable");
        }
    }
}
