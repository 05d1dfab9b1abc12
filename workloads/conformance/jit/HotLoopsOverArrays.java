// vm: -Xbatch -XX:CompileThreshold=200
/** Loops over arrays whose checks a compiler leaves out: with bounds that fit, that do not, and that change. */
public class HotLoopsOverArrays {
    public static void main(String[] args) {
        long sum = 0;
        for (int round = 0; round < 400; round++) {
            int[] array = new int[round % 40];
            sum = sum * 31 + fill(array) + rows(new int[][] {array, null, {1, 2}}, round % 4);
            sum = sum * 31 + upTo(array, round % 45) + from(array, round % 43 - 2);
            sum = sum * 31 + twice(array) + swapped(array, new int[7]) + nearTheLargest(round);
            sum = sum * 31 + chosen(round % 3 == 0 ? null : array) + shrinking(round % 20);
        }
        System.out.println(Long.toHexString(sum));
    }

    static int fill(int[] array) {
        for (int i = 0; i < array.length; i++) {
            array[i] = i * 7;
        }
        int sum = 0;
        for (int i = array.length - 1; i >= 0; i--) {
            sum = sum * 3 + array[i];
        }
        return sum;
    }

    /** The bound has nothing to do with the length. */
    static int upTo(int[] array, int bound) {
        int sum = 0;
        try {
            for (int i = 0; i < bound; i++) {
                sum += array[i];
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = sum * 31 + e.getMessage().hashCode();
        }
        return sum;
    }

    /** The first index may be negative. */
    static int from(int[] array, int first) {
        int sum = 0;
        try {
            for (int i = first; i < array.length; i++) {
                sum += array[i];
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = sum * 31 + e.getMessage().hashCode();
        }
        return sum;
    }

    /** Counts twice in a round. */
    static int twice(int[] array) {
        int sum = 0;
        try {
            for (int i = 0; i < array.length; i++) {
                i++;
                sum += array[i];
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = -sum;
        }
        return sum;
    }

    /** The array in the loop becomes another one. */
    static int swapped(int[] array, int[] other) {
        int sum = 0;
        try {
            for (int i = 0; i < array.length; i++) {
                sum += array[i] + i;
                if (i == 3) {
                    int[] kept = array;
                    array = other;
                    other = kept;
                }
                other[i] = sum;
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = sum * 31 + e.getMessage().hashCode();
        }
        return sum;
    }

    /** A counter that would become negative after the largest int. */
    static int nearTheLargest(int round) {
        int[] array = {1, 2, 3};
        int sum = 0;
        try {
            for (int i = Integer.MAX_VALUE - 2; i > 0; i++) {
                sum += i;
            }
            for (int i = Integer.MAX_VALUE - 9; i > 0 && i < Integer.MAX_VALUE; i += 2 + round % 3) {
                sum += array[i & 1];
            }
            for (int i = 0, limit = 3 + round % 2; i < limit; i++) {
                sum += array[i];
                if (round % 5 == 4) {
                    limit = 2;
                }
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = sum * 31 + e.getMessage().hashCode();
        }
        return sum;
    }

    /** Null only sometimes, and only after the first round. */
    static int chosen(int[] array) {
        int[] now = {4, 5};
        int sum = 0;
        try {
            for (int i = 0; i < 2; i++) {
                sum += now[i];
                now = array;
            }
        } catch (NullPointerException e) {
            sum += 1000;
        } catch (ArrayIndexOutOfBoundsException e) {
            sum += 2000;
        }
        return sum;
    }

    /** Rows may be missing or shorter. */
    static int rows(int[][] rows, int width) {
        int sum = 0;
        for (int[] row : rows) {
            try {
                for (int i = 0; i < width; i++) {
                    sum += row[i];
                }
            } catch (NullPointerException | ArrayIndexOutOfBoundsException e) {
                sum = sum * 31 + e.getClass().getName().length();
            }
        }
        return sum;
    }

    /** The field's array is replaced while the loop runs. */
    static int[] field = new int[8];

    static int shrinking(int at) {
        field = new int[8];
        int sum = 0;
        try {
            for (int i = 0; i < field.length || i < 8; i++) {
                field[i] = i;
                sum += field[i];
                if (i == at) {
                    field = new int[4];
                }
            }
        } catch (ArrayIndexOutOfBoundsException e) {
            sum = sum * 31 + e.getMessage().hashCode();
        }
        return sum;
    }
}
