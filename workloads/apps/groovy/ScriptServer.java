import groovy.lang.Binding;
import groovy.lang.GroovyClassLoader;
import groovy.lang.GroovyShell;
import groovy.lang.Script;
import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.util.ArrayList;
import java.util.List;

/**
 * Compiles and runs Groovy scripts: many small generated ones, each with a class loader of its own, and a larger one
 * that works on a collection of orders with closures, dynamic dispatch, categories, builders, JSON and XML.
 *
 * <p>Arguments: generated scripts, rounds of the larger one, orders.
 */
public class ScriptServer {
    private static final String ORDERS = String.join("\n",
        "import groovy.json.*",
        "import groovy.transform.*",
        "@Canonical class Line { String item; int count; BigDecimal price; BigDecimal total() { count * price } }",
        "class Order { int id; String customer; List<Line> lines = []; def meta = [:]",
        "  BigDecimal getTotal() { lines*.total().sum() ?: 0.0G }",
        "  def propertyMissing(String name) { meta[name] } ",
        "  def methodMissing(String name, args) { \"${name}(${args.join(', ')})\" } }",
        "class Twice { static String twice(String s) { s + s } }",
        "def orders = (0..<count).collect { n -> ",
        "  def order = new Order(id: n, customer: \"c${rng.below(20)}\")",
        "  (1 + rng.below(4)).times { order.lines << new Line(\"item${rng.below(50)}\", 1 + rng.below(9),",
        "    (rng.below(10000) / 100G)) }",
        "  order.meta.channel = ['web', 'shop', 'phone'][n % 3]",
        "  order }",
        "def out = new StringBuilder()",
        "def byCustomer = orders.groupBy { it.customer }.collectEntries { k, v -> [k, v*.total.sum()] }",
        "byCustomer.sort { -it.value }.take(5).each { k, v -> out << \"$k=$v;\" }",
        "out << orders.countBy { it.channel }.sort()",
        "out << orders.findAll { it.total > 500 && it.lines.size() in 2..4 }.collect { it.id }.sum()",
        "out << orders[0].ship('now', 3)",
        "def json = JsonOutput.toJson(orders.take(50).collect { [id: it.id, total: it.total, lines: it.lines*.item] })",
        "def back = new JsonSlurper().parseText(json)",
        "out << back.collect { it.lines.size() }.sum() << json.size()",
        "def writer = new StringWriter()",
        "new groovy.xml.MarkupBuilder(writer).orders { orders.take(30).each { o -> ",
        "  order(id: o.id) { customer(o.customer); o.lines.each { l -> line(item: l.item, l.count) } } } }",
        "def xml = new XmlSlurper().parseText(writer.toString())",
        "out << xml.order.line*.text()*.toInteger().sum()",
        "use(Twice) { out << 'ab'.twice() }",
        "def fib; fib = { n -> n < 2 ? n : fib(n - 1) + fib(n - 2) }",
        "out << fib(12) << fib.memoize()(10)",
        "def add = { a, b -> a + b }; def inc = add.curry(1); def both = inc >> { it * 2 }",
        "out << both(4) << (1..10).inject(1G) { a, b -> a * b } << [1, [2, [3, 4]]].flatten().sum()",
        "def m = 'order-42/x7' =~ /(\\w+)-(\\d+)\\/(.)(\\d)/",
        "out << m[0][2..4] << (2 ** 70) << (7 <=> 3) << ('abc' as char[]).length << \"${10.intdiv(3)}\"",
        "switch (orders.size()) { case { it < 10 }: out << 'few'; break; case 10..1000: out << 'some'; break",
        "  default: out << 'many' }",
        "Integer.metaClass.squared = { -> delegate * delegate }",
        "out << 12.squared()",
        "@CompileStatic long mix(List<Integer> xs) { long sum = 0; for (int x : xs) { sum = sum * 31 + x }; sum }",
        "out << mix(orders*.id)",
        "try { new Line('x', 1, null).total() } catch (NullPointerException | GroovyRuntimeException e) {",
        "  out << e.class.simpleName }",
        "try { nothing.here() } catch (MissingPropertyException e) { out << e.property }",
        "out.toString()");

    public static void main(String[] args) throws Exception {
        int scripts = args.length > 0 ? Integer.parseInt(args[0]) : 20;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 3;
        int orders = args.length > 2 ? Integer.parseInt(args[2]) : 100;
        long start = System.nanoTime();
        Checksum checksum = new Checksum();
        Rng rng = new Rng(3);
        List<Object> kept = new ArrayList<>();
        for (int i = 0; i < scripts; i++) {
            Binding binding = new Binding();
            binding.setVariable("n", 10 + i % 7);
            kept.add(new GroovyShell(binding).evaluate(script(rng, i)));
        }
        kept.forEach(value -> checksum.add(String.valueOf(value)));
        Figures.result("scripts", scripts + " " + checksum);
        Figures.metric("scripts_s", Figures.seconds(start));
        start = System.nanoTime();
        long[] nanos = new long[rounds];
        try (GroovyClassLoader loader = new GroovyClassLoader()) {
            Class<?> type = loader.parseClass(ORDERS, "Orders.groovy");
            for (int round = 0; round < rounds; round++) {
                long before = System.nanoTime();
                Script script = (Script) type.getDeclaredConstructor().newInstance();
                script.setProperty("count", orders);
                script.setProperty("rng", new Rng(round % 3));
                String result = String.valueOf(script.run());
                nanos[round] = System.nanoTime() - before;
                checksum.add(result);
                if (round < 3) {
                    Figures.result("orders", result);
                }
            }
        }
        Figures.result("all", checksum);
        Figures.metric("orders_s", Figures.seconds(start));
        Figures.latencies("round", nanos);
    }

    private static String script(Rng rng, int number) {
        StringBuilder text = new StringBuilder("class Point" + number + " { int x, y; def plus(o) { new Point" + number
            + "(x: x + o.x, y: y + o.y) }; String toString() { \"$x/$y\" } }\n");
        text.append("def total = 0; def words = []\n");
        int statements = rng.between(5, 20);
        for (int s = 0; s < statements; s++) {
            int a = rng.between(1, 50);
            switch (rng.below(6)) {
                case 0:
                    text.append("n.times { total += it * " + a + " }\n");
                    break;
                case 1:
                    text.append("words << \"w${total % " + a + "}\".toUpperCase()\n");
                    break;
                case 2:
                    text.append("total += (1..n).findAll { it % " + (1 + a % 4) + " == 0 }.sum() ?: 0\n");
                    break;
                case 3:
                    text.append("def m" + s + " = [a: n, b: " + a + "]; total += m" + s + ".a * m" + s + ".b + m" + s
                        + ".values().max()\n");
                    break;
                case 4:
                    text.append("def p" + s + " = new Point" + number + "(x: n, y: " + a + "); words << (p" + s + " + p"
                        + s + ").toString()\n");
                    break;
                default:
                    text.append("def f" + s + " = { x, y = " + a + " -> x <=> y ?: x }; total += f" + s + "(n) + f" + s
                        + "(n, 3)\n");
                    break;
            }
        }
        return text.append("return \"$total ${words.sort().unique().join(',')}\"\n").toString();
    }
}
