import java.lang.invoke.CallSite;
import java.lang.invoke.ConstantCallSite;
import java.lang.invoke.LambdaMetafactory;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.invoke.MutableCallSite;
import java.lang.invoke.StringConcatFactory;
import java.lang.invoke.SwitchPoint;
import java.lang.invoke.VolatileCallSite;
import java.util.function.Function;
import java.util.function.IntUnaryOperator;

public class CallSites {
    static int twice(int x) {
        return x * 2;
    }

    static int square(int x) {
        return x * x;
    }

    String name(Object o) {
        return "named " + o;
    }

    @SuppressWarnings("unchecked")
    public static void main(String[] args) throws Throwable {
        MethodHandles.Lookup l = MethodHandles.lookup();
        MethodType unary = MethodType.methodType(int.class, int.class);
        MethodHandle twice = l.findStatic(CallSites.class, "twice", unary);
        MethodHandle square = l.findStatic(CallSites.class, "square", unary);
        MutableCallSite mutable = new MutableCallSite(twice);
        MethodHandle invoker = mutable.dynamicInvoker();
        System.out.print((int) invoker.invokeExact(7) + " ");
        mutable.setTarget(square);
        System.out.println((int) invoker.invokeExact(7));
        VolatileCallSite v = new VolatileCallSite(unary);
        try {
            v.dynamicInvoker().invoke(1);
        } catch (IllegalStateException e) {
            System.out.println(e.getMessage());
        }
        v.setTarget(square);
        System.out.println(v.dynamicInvoker().invoke(3));
        SwitchPoint point = new SwitchPoint();
        MethodHandle switched = point.guardWithTest(twice, square);
        System.out.print((int) switched.invokeExact(5) + " ");
        SwitchPoint.invalidateAll(new SwitchPoint[] {point});
        System.out.println((int) switched.invokeExact(5) + " " + point.hasBeenInvalidated());
        CallSite lambda = LambdaMetafactory.metafactory(l, "applyAsInt", MethodType.methodType(IntUnaryOperator.class), unary, twice, unary);
        IntUnaryOperator op = (IntUnaryOperator) lambda.getTarget().invokeExact();
        System.out.println(op.applyAsInt(8) + " " + (lambda instanceof ConstantCallSite));
        CallSite bound = LambdaMetafactory.altMetafactory(l, "apply", MethodType.methodType(Function.class, CallSites.class),
            MethodType.genericMethodType(1), l.findVirtual(CallSites.class, "name", MethodType.methodType(String.class, Object.class)),
            MethodType.methodType(String.class, Object.class), LambdaMetafactory.FLAG_SERIALIZABLE | LambdaMetafactory.FLAG_MARKERS, 1, Cloneable.class);
        Function<Object, String> f = (Function<Object, String>) bound.getTarget().invokeExact(new CallSites());
        System.out.println(f.apply("x") + " " + (f instanceof Cloneable) + " " + (f instanceof java.io.Serializable));
        CallSite concat = StringConcatFactory.makeConcatWithConstants(l, "concat", MethodType.methodType(String.class, int.class, String.class), "<\1|\1|\2>", "constant");
        System.out.println((String) concat.getTarget().invokeExact(5, "five"));
        try {
            mutable.setTarget(MethodHandles.identity(String.class));
        } catch (java.lang.invoke.WrongMethodTypeException e) {
            System.out.println(e.getMessage());
        }
    }
}
