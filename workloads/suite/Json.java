package suite;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Parses a JSON document into maps, lists and boxes, walks it, and prints it again. */
public class Json {
    public static void main(String[] args) {
        String document = document();
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(36, size); i > 0; i--) {
                Object tree = new Parser(document).parse();
                StringBuilder printed = new StringBuilder();
                print(tree, printed);
                sum = sum * 31 + total(tree) + printed.toString().hashCode();
            }
            return sum;
        });
    }

    /** An order book of a made-up shop. */
    private static String document() {
        Harness.Rng rng = new Harness.Rng(11);
        String[] goods = {"lamp", "chair \"Oslo\"", "table\\desk", "caf\\u00e9 set", "rug\n2x3", "shelf"};
        StringBuilder out = new StringBuilder("{ \"shop\": \"Number 9\", \"open\": true, \"orders\": [\n");
        for (int order = 0; order < 400; order++) {
            out.append(order == 0 ? "" : ",\n").append("  {\"id\": ").append(100_000 + order);
            out.append(", \"paid\": ").append(rng.below(3) > 0).append(", \"note\": ");
            out.append(rng.below(4) == 0 ? "null" : "\"by " + (rng.below(12) + 8) + " o'clock\"");
            out.append(", \"items\": [");
            int items = 1 + rng.below(5);
            for (int item = 0; item < items; item++) {
                String name = goods[rng.below(goods.length)];
                name = name.replace("\"", "\\\"").replace("\n", "\\n");
                out.append(item == 0 ? "" : ", ").append("{\"name\": \"").append(name);
                out.append("\", \"count\": ").append(1 + rng.below(9)).append(", \"price\": ");
                out.append(rng.below(500)).append('.').append(10 + rng.below(90));
                out.append(", \"weight\": ").append(rng.below(9) - 4).append(".5e").append(rng.below(4)).append('}');
            }
            out.append("]}");
        }
        return out.append("\n] }").toString();
    }

    /** Adds up the contents of the tree. */
    private static long total(Object node) {
        if (node instanceof Map<?, ?> map) {
            long sum = 0;
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                sum = sum * 3 + entry.getKey().hashCode() + total(entry.getValue());
            }
            return sum;
        }
        if (node instanceof List<?> list) {
            long sum = 0;
            for (Object item : list) {
                sum = sum * 5 + total(item);
            }
            return sum;
        }
        if (node instanceof Double number) {
            return Double.doubleToLongBits(number) >>> 20;
        }
        return node == null ? 1 : node.hashCode();
    }

    private static void print(Object node, StringBuilder out) {
        if (node instanceof Map<?, ?> map) {
            out.append('{');
            String comma = "";
            for (Map.Entry<?, ?> entry : map.entrySet()) {
                out.append(comma);
                quote((String) entry.getKey(), out);
                out.append(':');
                print(entry.getValue(), out);
                comma = ",";
            }
            out.append('}');
        } else if (node instanceof List<?> list) {
            out.append('[');
            for (int i = 0; i < list.size(); i++) {
                if (i > 0) {
                    out.append(',');
                }
                print(list.get(i), out);
            }
            out.append(']');
        } else if (node instanceof String text) {
            quote(text, out);
        } else if (node instanceof Double number) {
            // Most numbers are amounts of money; the rest of the digits is not needed.
            long cents = Math.round(number * 100);
            out.append(cents / 100).append('.').append(Math.abs(cents % 100));
        } else {
            out.append(node);
        }
    }

    private static void quote(String text, StringBuilder out) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            switch (c) {
                case '"' -> out.append("\\\"");
                case '\\' -> out.append("\\\\");
                case '\n' -> out.append("\\n");
                case '\t' -> out.append("\\t");
                default -> {
                    if (c < ' ' || c > '~') {
                        out.append("\\u").append(Integer.toHexString(0x10000 | c), 1, 5);
                    } else {
                        out.append(c);
                    }
                }
            }
        }
        out.append('"');
    }

    /** A parser by recursive descent. */
    static final class Parser {
        private final String text;
        private int at;

        Parser(String text) {
            this.text = text;
        }

        Object parse() {
            Object value = value();
            space();
            if (at != text.length()) {
                throw wrong("end");
            }
            return value;
        }

        private Object value() {
            space();
            char c = peek();
            switch (c) {
                case '{':
                    return object();
                case '[':
                    return array();
                case '"':
                    return string();
                case 't':
                    return word("true", Boolean.TRUE);
                case 'f':
                    return word("false", Boolean.FALSE);
                case 'n':
                    return word("null", null);
                default:
                    if (c == '-' || isDigit(c)) {
                        return number();
                    }
                    throw wrong("a value");
            }
        }

        private Map<String, Object> object() {
            Map<String, Object> members = new LinkedHashMap<>();
            at++;
            space();
            if (accept('}')) {
                return members;
            }
            do {
                space();
                String name = string();
                space();
                expect(':');
                members.put(name, value());
                space();
            } while (accept(','));
            expect('}');
            return members;
        }

        private List<Object> array() {
            List<Object> items = new ArrayList<>();
            at++;
            space();
            if (accept(']')) {
                return items;
            }
            do {
                items.add(value());
                space();
            } while (accept(','));
            expect(']');
            return items;
        }

        private String string() {
            expect('"');
            StringBuilder out = new StringBuilder();
            while (true) {
                char c = peek();
                at++;
                if (c == '"') {
                    return out.toString();
                }
                out.append(c == '\\' ? escaped() : c);
            }
        }

        private char escaped() {
            char c = peek();
            at++;
            switch (c) {
                case 'n':
                    return '\n';
                case 't':
                    return '\t';
                case 'u':
                    int code = 0;
                    for (int i = 0; i < 4; i++) {
                        code = code * 16 + Character.digit(peek(), 16);
                        at++;
                    }
                    return (char) code;
                default:
                    return c;
            }
        }

        private Number number() {
            int start = at;
            boolean whole = true;
            while (at < text.length()) {
                char c = text.charAt(at);
                if (c == '.' || c == 'e' || c == 'E' || c == '+') {
                    whole = false;
                } else if (c != '-' && !isDigit(c)) {
                    break;
                }
                at++;
            }
            String digits = text.substring(start, at);
            return whole ? (Number) Integer.valueOf(digits) : (Number) Double.valueOf(digits);
        }

        private Object word(String word, Object value) {
            if (!text.startsWith(word, at)) {
                throw wrong(word);
            }
            at += word.length();
            return value;
        }

        private void space() {
            while (at < text.length() && text.charAt(at) <= ' ') {
                at++;
            }
        }

        private boolean accept(char c) {
            if (at < text.length() && text.charAt(at) == c) {
                at++;
                return true;
            }
            return false;
        }

        private void expect(char c) {
            if (!accept(c)) {
                throw wrong("'" + c + "'");
            }
        }

        private char peek() {
            if (at >= text.length()) {
                throw wrong("more");
            }
            return text.charAt(at);
        }

        private static boolean isDigit(char c) {
            return c >= '0' && c <= '9';
        }

        private IllegalArgumentException wrong(String expected) {
            return new IllegalArgumentException("expected " + expected + " at " + at);
        }
    }
}
