import java.lang.reflect.Executable;
import java.lang.reflect.Parameter;

public class ParameterNames {
    ParameterNames(int first, String second) {}

    class Inner {
        Inner(long value) {}
    }

    enum E {
        ONE(1);

        E(int n) {}
    }

    void method(final int a, String... b) {}

    static void show(Executable e) {
        StringBuilder sb = new StringBuilder(e.getName());
        for (Parameter p : e.getParameters()) {
            sb.append(" [").append(p).append(' ').append(p.isNamePresent()).append(p.isVarArgs()).append(p.isImplicit()).append(p.isSynthetic()).append(']');
        }
        System.out.println(sb);
    }

    public static void main(String[] args) throws Exception {
        show(ParameterNames.class.getDeclaredConstructors()[0]);
        show(Inner.class.getDeclaredConstructors()[0]);
        show(E.class.getDeclaredConstructors()[0]);
        show(ParameterNames.class.getDeclaredMethod("method", int.class, String[].class));
        show(String.class.getMethod("indexOf", String.class, int.class));
        record R(int compact, String canonical) {
            R {}
        }
        show(R.class.getDeclaredConstructors()[0]);
    }
}
