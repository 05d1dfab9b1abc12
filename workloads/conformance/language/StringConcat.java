public class StringConcat {
    static class Loud {
        final String name;

        Loud(String name) {
            this.name = name;
        }

        @Override
        public String toString() {
            System.out.print("[" + name + "]");
            return name;
        }
    }

    static int i;

    public static void main(String[] args) {
        byte b = -1;
        short s = 300;
        char c = '\u20ac';
        long l = Long.MIN_VALUE;
        float f = 1.1f;
        double d = -0.0;
        boolean z = true;
        Object nothing = null;
        String text = "t";
        char[] chars = {'x'};
        System.out.println(b + "," + s + "," + c + "," + l + "," + f + "," + d + "," + z + "," + nothing + "," + text);
        System.out.println("" + new Loud("a") + new Loud("b") + 1);
        System.out.println(i++ + "-" + i++ + "-" + i);
        System.out.println("\1\2" + i + "\1" + text + "\2");
        String many = "" + i + b + s + c + l + f + d + z + text + i + b + s + c + l + f + d + z + text
            + i + b + s + c + l + f + d + z + text + i + b + s + c + l + f + d + z + text
            + i + b + s + c + l + f + d + z + text + i + b + s + c + l + f + d + z + text;
        System.out.println(many.length() + " " + many.hashCode());
        text += text + 'q' + 1 + 2L + 3f;
        System.out.println(text);
        String[] array = {"p", null};
        array[0] += array[1];
        array[1] += 5;
        System.out.println(array[0] + array[1]);
        StringBuilder sb = new StringBuilder();
        for (int k = 0; k < 50; k++) {
            sb.append(k).append(k % 2 == 0 ? "e" : 'o').append(k * 1.5).append(k == 3);
        }
        System.out.println(sb.length() + " " + sb.toString().hashCode());
        String built = "";
        for (int k = 0; k < 40; k++) {
            built = k + built + (char) ('a' + k % 26);
        }
        System.out.println(built);
    }
}
