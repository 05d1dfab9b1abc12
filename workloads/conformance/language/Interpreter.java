import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

// A small expression language: lexer, parser, and tree-walking evaluation with closures.
public class Interpreter {
    interface Node {
        Object eval(Map<String, Object> env);
    }

    interface Function {
        Object call(List<Object> args);
    }

    private final Deque<String> tokens = new ArrayDeque<>();

    Interpreter(String source) {
        for (String t : source.replace("(", " ( ").replace(")", " ) ").trim().split("\\s+")) {
            tokens.add(t);
        }
    }

    Node parse() {
        String t = tokens.remove();
        if (!t.equals("(")) {
            if (t.matches("-?\\d+")) {
                long value = Long.parseLong(t);
                return env -> value;
            }
            return env -> {
                if (!env.containsKey(t)) {
                    throw new IllegalStateException("unbound " + t);
                }
                return env.get(t);
            };
        }
        String head = tokens.peek();
        if (head.equals("if")) {
            tokens.remove();
            Node c = parse();
            Node a = parse();
            Node b = parse();
            close();
            return env -> (Long) c.eval(env) != 0 ? a.eval(env) : b.eval(env);
        }
        if (head.equals("let")) {
            tokens.remove();
            String name = tokens.remove();
            Node value = parse();
            Node body = parse();
            close();
            return env -> {
                Map<String, Object> inner = new HashMap<>(env);
                inner.put(name, value.eval(inner));
                return body.eval(inner);
            };
        }
        if (head.equals("fn")) {
            tokens.remove();
            tokens.remove();
            List<String> names = new ArrayList<>();
            while (!tokens.peek().equals(")")) {
                names.add(tokens.remove());
            }
            close();
            Node body = parse();
            close();
            return env -> (Function) args -> {
                Map<String, Object> inner = new HashMap<>(env);
                for (int i = 0; i < names.size(); i++) {
                    inner.put(names.get(i), args.get(i));
                }
                inner.putIfAbsent("self", env.get("self"));
                return body.eval(inner);
            };
        }
        List<Node> parts = new ArrayList<>();
        while (!tokens.peek().equals(")")) {
            parts.add(parse());
        }
        close();
        return env -> {
            List<Object> args = new ArrayList<>();
            for (Node n : parts.subList(1, parts.size())) {
                args.add(n.eval(env));
            }
            return ((Function) parts.get(0).eval(env)).call(args);
        };
    }

    void close() {
        if (!tokens.remove().equals(")")) {
            throw new IllegalStateException("expected )");
        }
    }

    static Function binary(java.util.function.LongBinaryOperator op) {
        return args -> op.applyAsLong((Long) args.get(0), (Long) args.get(1));
    }

    public static void main(String[] args) {
        Map<String, Object> env = new HashMap<>();
        env.put("+", binary(Long::sum));
        env.put("-", binary((a, b) -> a - b));
        env.put("*", binary((a, b) -> a * b));
        env.put("<", binary((a, b) -> a < b ? 1 : 0));
        for (String source : new String[] {"(+ 1 (* 2 3))", "(let x 5 (let y (* x x) (- y x)))", "((fn (a b) (+ a b)) 3 4)",
            "(let add (fn (a) (fn (b) (+ a b))) ((add 10) 32))", "(let fib (fn (f n) (if (< n 2) n (+ (f f (- n 1)) (f f (- n 2))))) (fib fib 11))", "(undefined 1)"}) {
            try {
                System.out.println(new Interpreter(source).parse().eval(env));
            } catch (IllegalStateException e) {
                System.out.println(e.getMessage());
            }
        }
    }
}
