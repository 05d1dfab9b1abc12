import java.util.Arrays;

public class Arrays1 {
    interface Body {
        void run();
    }

    static void check(Body b) {
        try {
            b.run();
            System.out.println("fine");
        } catch (RuntimeException e) {
            System.out.println(e);
        }
    }

    public static void main(String[] args) {
        int[][] jagged = {{1}, {2, 3}, {}, null};
        System.out.println(Arrays.deepToString(jagged));
        long[][][] cube = new long[2][3][4];
        cube[1][2][3] = 5;
        System.out.println(cube.length + " " + cube[0].length + " " + cube[0][0].length + " "
            + Arrays.stream(cube[1][2]).sum());
        int[][] partial = new int[3][];
        System.out.println(partial[0]);
        String[][] empty = new String[0][5];
        System.out.println(empty.length + " " + empty.getClass() + " " + new byte[0].getClass().getName());
        Object[] objects = new String[2];
        check(() -> objects[0] = 1);
        check(() -> objects[0] = "ok");
        Object[] nested = new Integer[2][2];
        check(() -> nested[0] = new Object[1]);
        check(() -> nested[0] = null);
        int size = -5;
        check(() -> System.out.println(new int[size].length));
        check(() -> System.out.println(new int[2][size].length));
        int[] five = new int[5];
        check(() -> five[5] = 1);
        check(() -> five[-1]++);
        check(() -> System.out.println(new boolean[1][1][0][0][0].length));
        check(() -> System.arraycopy(five, 2, five, 4, 3));
        check(() -> System.arraycopy(five, 0, new long[5], 0, 1));
        check(() -> System.arraycopy("x", 0, five, 0, 1));
        check(() -> System.arraycopy(five, -1, five, 0, 1));
        check(() -> System.arraycopy(new Object[] {"a", 1, "b"}, 0, objects, 0, 2));
        System.out.println(Arrays.toString(objects));
        int[] shift = {1, 2, 3, 4, 5, 6};
        System.arraycopy(shift, 0, shift, 2, 4);
        System.out.println(Arrays.toString(shift));
        System.arraycopy(shift, 2, shift, 0, 4);
        System.out.println(Arrays.toString(shift));
        int[] copy = shift.clone();
        copy[0] = 99;
        System.out.println(shift[0] + " " + copy[0] + " " + copy.getClass() + " " + jagged.clone()[1].length);
        byte[] bytes = {(byte) 200, -1};
        short[] shorts = {(short) 40000};
        char[] chars = {(char) -1};
        boolean[] flags = {true, false};
        bytes[1] += 2;
        bytes[0] >>= 1;
        flags[1] |= flags[0];
        System.out.println(bytes[0] + " " + bytes[1] + " " + shorts[0] + " " + (int) chars[0] + " " + flags[1]);
        float[] fs = {1.5f};
        double[] ds = {2.5};
        fs[0]++;
        ds[0] *= fs[0];
        System.out.println(fs[0] + " " + ds[0]);
        System.out.println(Arrays.equals(new int[] {1, 2}, new int[] {1, 2}) + " "
            + Arrays.hashCode(new int[] {1, 2}) + " " + Arrays.mismatch(shift, copy) + " "
            + Arrays.compare(new int[] {1}, new int[] {1, 2}));
    }
}
