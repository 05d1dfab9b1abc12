public class SealedPatterns {
    sealed interface Expr permits Num, Add, Mul, Neg {}

    record Num(int value) implements Expr {}

    record Add(Expr left, Expr right) implements Expr {}

    record Mul(Expr left, Expr right) implements Expr {}

    static non-sealed class Neg implements Expr {
        final Expr inner;

        Neg(Expr inner) {
            this.inner = inner;
        }
    }

    static int eval(Expr e) {
        if (e instanceof Num n) {
            return n.value();
        }
        if (e instanceof Add a) {
            return eval(a.left()) + eval(a.right());
        }
        if (e instanceof Mul m && m.left() instanceof Num n && n.value() == 0) {
            return 0;
        }
        if (e instanceof Mul m) {
            return eval(m.left()) * eval(m.right());
        }
        if (!(e instanceof Neg neg)) {
            throw new AssertionError(e);
        }
        return -eval(neg.inner);
    }

    static String describe(Object o) {
        if (o instanceof String s && !s.isEmpty()) {
            return "string " + s.charAt(0);
        } else if (o instanceof Integer i && i > 10) {
            return "big " + (i + 1);
        } else if (o instanceof int[] a) {
            return "ints " + a.length;
        } else if (!(o instanceof Number n)) {
            return "other " + o;
        } else {
            return "number " + n.intValue();
        }
    }

    public static void main(String[] args) {
        Expr e = new Add(new Num(3), new Mul(new Num(4), new Neg(new Num(5))));
        System.out.println(eval(e) + " " + eval(new Mul(new Num(0), null)));
        for (Object o : new Object[] {"abc", "", 5, 50, 2.5, new int[3], null, 'c'}) {
            System.out.println(describe(o));
        }
        System.out.println(Expr.class.isSealed() + " " + Expr.class.getPermittedSubclasses().length
            + " " + Neg.class.isSealed());
        for (Class<?> c : Expr.class.getPermittedSubclasses()) {
            System.out.println(c.getName());
        }
    }
}
