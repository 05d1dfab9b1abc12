public class TryWithResources {
    static class Res implements AutoCloseable {
        final String name;
        final boolean failing;

        Res(String name, boolean failing) {
            this.name = name;
            this.failing = failing;
            System.out.println("open " + name);
        }

        @Override
        public void close() throws Exception {
            System.out.println("close " + name);
            if (failing) {
                throw new Exception("close failed: " + name);
            }
        }
    }

    static void show(Throwable t) {
        System.out.println("caught " + t.getMessage());
        for (Throwable s : t.getSuppressed()) {
            System.out.println("  suppressed " + s.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        try (Res a = new Res("a", false); Res b = new Res("b", false)) {
            System.out.println("body " + a.name + b.name);
        }
        try (Res a = new Res("a", true); Res b = new Res("b", true)) {
            throw new IllegalStateException("body");
        } catch (Exception e) {
            show(e);
        }
        try (Res a = new Res("a", true); Res b = new Res("b", true)) {
            System.out.println("quiet body");
        } catch (Exception e) {
            show(e);
        } finally {
            System.out.println("finally");
        }
        try (Res none = null) {
            System.out.println("null resource " + none);
        }
        Res outer = new Res("outer", false);
        try (outer; Res second = new Res("second", false)) {
            System.out.println("both");
        }
        Exception e = new Exception("self");
        try {
            e.addSuppressed(e);
        } catch (IllegalArgumentException x) {
            System.out.println(x.getMessage());
        }
        System.out.println(nested());
    }

    static int nested() {
        try (Res r = new Res("return", false)) {
            return r.name.length();
        } catch (Exception e) {
            return -1;
        }
    }
}
