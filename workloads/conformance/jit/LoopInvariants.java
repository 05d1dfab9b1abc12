// vm: -Xbatch -XX:CompileThreshold=200
/**
 * Loops that read the same fields, statics and rows of arrays in every round. A compiler may read them once, before the
 * loop, unless the loop changes them, under any name; and a reference that it reads must be updated by a collection,
 * must not be asked of an object that is null, and must be read anew after the loop.
 */
public class LoopInvariants {
    static class Sums {
        int[] numbers;
        int[] others;
        long total;
        byte small;
        double factor;
        Sums next;
        volatile int version;
        Object[] things;

        Sums(int length, int seed) {
            numbers = new int[length];
            others = new int[length];
            for (int i = 0; i < length; i++) {
                numbers[i] = i * seed;
                others[i] = i ^ seed;
            }
            factor = seed / 2.0;
            small = (byte) seed;
        }

        long all() {
            long sum = 0;
            for (int i = 0; i < numbers.length; i++) {
                sum += numbers[i] * (long) small + others[i];
                sum += (long) (factor * i);
            }
            return sum;
        }

        /** The field is stored to in the loop, but not in every round. */
        long swapping() {
            long sum = 0;
            for (int i = 0; i < 40; i++) {
                sum = sum * 31 + numbers[i % numbers.length];
                if (i % 7 == 3) {
                    int[] kept = numbers;
                    numbers = others;
                    others = kept;
                }
            }
            return sum;
        }

        /** Stored to by another name. */
        long aliased(Sums same) {
            long sum = 0;
            for (int i = 0; i < 30; i++) {
                sum += total;
                same.total = sum + i;
            }
            return sum;
        }

        /** An interpreter in small: the loop's head is its switch. */
        int program(int[] code) {
            things = new Object[] {this, null};
            int at = 0;
            int top = 0;
            while (true) {
                switch (code[at++]) {
                    case 0:
                        numbers[top++ & 7] = code[at++];
                        break;
                    case 1:
                        others[top & 7] += numbers[top & 7] + small;
                        break;
                    case 2:
                        total += others[(top + 1) & 7];
                        top--;
                        break;
                    case 3:
                        return (int) total;
                    default:
                        small++;
                }
            }
        }
    }

    static int[] table = {3, 1, 4, 1, 5, 9, 2, 6};
    static int[] spare = {7, 8, 9, 10};
    static int limit = 50;
    static long counted;

    static long statics() {
        long sum = 0;
        for (int i = 0; i < limit; i++) {
            sum = sum * 7 + table[i & 7];
        }
        for (int i = 0; i < limit; i++) {
            counted++;
            sum += counted;
        }
        return sum;
    }

    static long rows(int[][] a, int[][] b, int row) {
        long sum = 0;
        for (int i = 0; i < b.length; i++) {
            sum += (long) a[row][i] * b[i][row];
        }
        return sum;
    }

    /** The row changes in the loop. */
    static long changingRows(int[][] a, int row) {
        long sum = 0;
        for (int i = 0; i < 12; i++) {
            sum = sum * 3 + a[row][i % 4];
            if (i == 5) {
                a[(row + 0)] = a[row + 1];
            }
        }
        return sum;
    }

    /** The object may be null as long as it is not accessed. */
    static int maybe(Sums sums, int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            if (i % 2 == 0) {
                sum += i;
            } else {
                sum += sums.numbers[i & 3] + sums.small;
            }
        }
        return sum;
    }

    /** The object's referent may be null as long as it is not accessed. */
    static int maybeNext(Sums sums, int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i < 4 ? i : sums.next.small + sums.next.numbers[i & 3];
        }
        return sum;
    }

    /** Two names of one array, two of one index. */
    static int namedTwice(int[][] rows, int[][] same, int index, int again) {
        int before = rows[index].length + rows[index][0];
        same[again] = spare;
        return before + rows[index].length * 7 + rows[index][0];
    }

    /** The row may be out of bounds as long as it is not accessed. */
    static int outside(int[][] rows, int row, int rounds) {
        int sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += i < 3 ? i : rows[row][i & 3];
        }
        return sum;
    }

    /** Arrays are made in the loop, so that collections come and everything moves. */
    static long moving(Sums sums, int rounds) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum += sums.others[(i + 3) & 7] + sums.numbers[(i + 1) & 7];
            byte[] garbage = new byte[8192];
            garbage[i & 4095] = (byte) sums.numbers[i & 7];
            sum += garbage[i & 4095] + sums.others[i & 7] + sums.next.numbers.length;
        }
        return sum;
    }

    /** Another thread writes, after which the version changes: values read then are new. */
    static int waiting(Sums sums, int version) {
        int seen = version;
        while (true) {
            int first = sums.numbers[0];
            if (seen != version) {
                return first;
            }
            seen = sums.version;
        }
    }

    /** The inner loop changes the fields that the outer one reads. */
    static long nested(Sums sums) {
        long sum = 0;
        for (int i = 0; i < 6; i++) {
            sum += sums.total;
            for (int j = 0; j < 5; j++) {
                sum = sum * 3 + sums.numbers[j];
                sums.total = sum & 0xff;
            }
            for (int j = 0; j < 3; j++) {
                sum += sums.total;
            }
        }
        return sum;
    }

    /** A store that is met, and so resolved, only after the loop was compiled. */
    static long late(Sums sums, int rounds, int when) {
        long sum = 0;
        for (int i = 0; i < rounds; i++) {
            sum = sum * 5 + sums.numbers[i & 3];
            if (i == when) {
                sums.numbers = sums.others;
            }
        }
        return sum;
    }

    /** The local of the object is stored to in the loop. */
    static long walking(Sums sums) {
        long sum = 0;
        while (sums != null) {
            sum = sum * 31 + sums.numbers[1] + sums.small;
            sums = sums.next;
        }
        return sum;
    }

    /** A wide local before a narrow one that is stored to. */
    /** Not inlined, because it locks. */
    static synchronized int change(Sums sums, int by) {
        sums.total += by;
        limit++;
        return Math.max(by, 1);
    }

    /** Calls that only compute change nothing; one that only looks like them does. */
    static long calling(Sums sums, int rounds) {
        long sum = 0;
        double root = 0;
        for (int i = 0; i < rounds; i++) {
            sum += sums.total + Math.min(sums.numbers[i & 7], limit) + Integer.bitCount(sums.numbers[1] + i);
            root += Math.sqrt(sums.total & 0xff) + (Double.isNaN(root) ? 1 : 0);
        }
        for (int i = 0; i < rounds; i++) {
            sum += sums.total * 3L + limit + change(sums, i);
        }
        limit -= rounds;
        return sum + (long) root;
    }

    static double wide(double factor, int from, Sums sums) {
        double sum = 0;
        for (; from < 20; from++) {
            sum += factor * sums.factor + from;
        }
        return sum;
    }

    public static void main(String[] args) throws InterruptedException {
        Sums a = new Sums(8, 3);
        Sums b = new Sums(8, 5);
        a.next = b;
        long sum = 0;
        int[] code = {0, 4, 1, 0, 5, 1, 2, 9, 1, 2, 3};
        int[][] rows = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}, {13, 14, 15, 16}};
        for (int round = 0; round < 3000; round++) {
            sum = sum * 31 + a.all() + b.swapping() + a.aliased(a) + a.aliased(b);
            sum = sum * 31 + b.program(code);
            sum = sum * 31 + statics() + rows(rows, rows, round & 3);
            sum = sum * 31 + changingRows(new int[][] {{1, 2, 3, round}, {4, 5, 6, 7}}, 0);
            sum = sum * 31 + maybe(round % 5 == 0 ? null : a, round % 5 == 0 ? 1 : 9);
            sum = sum * 31 + maybeNext(round % 3 == 0 ? b : a, round % 3 == 0 ? 4 : 8);
            sum = sum * 31 + outside(rows, round % 6 == 5 ? -2 : round % 6, round % 6 > 3 ? 3 : 8);
            int[][] named = {{1, 2}, {3, 4, 5}};
            sum = sum * 31 + namedTwice(named, named, round & 1, round & 1) + namedTwice(named, named, 0, 1);
            sum = sum * 31 + nested(a) + walking(a) + (long) wide(1.5, round & 7, b);
            sum = sum * 31 + late(a, 9, -1) + calling(b, 12);
            b.total &= 0xfff;
            a.total &= 0xffff;
            table = new int[] {round, 1, 4, 1, 5, 9, 2, 6};
            limit = 40 + round % 20;
        }
        System.out.println(sum);
        for (int round = 0; round < 300; round++) {
            sum = sum * 31 + moving(a, 40);
        }
        System.out.println(sum);
        for (int round = 0; round < 2000; round++) {
            sum = sum * 31 + late(a, 9, 4) + a.numbers[2];
            a.numbers = new int[] {round, 2, 3, 4, 5, 6, 7, 8};
        }
        System.out.println(sum);
        try {
            System.out.println(maybe(null, 9));
        } catch (NullPointerException e) {
            System.out.println("null is asked");
        }
        try {
            System.out.println(maybeNext(b, 8));
        } catch (NullPointerException e) {
            System.out.println("null is asked once more");
        }
        try {
            System.out.println(outside(rows, 4, 8));
        } catch (ArrayIndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
        for (int round = 0; round < 20; round++) {
            int expected = round * 17;
            int version = b.version;
            Thread writer = new Thread(() -> {
                try {
                    Thread.sleep(5);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
                b.numbers = new int[] {expected, 1, 2, 3, 4, 5, 6, 7};
                b.version++;
            });
            writer.start();
            int seen = waiting(b, version);
            writer.join();
            if (seen != expected) {
                System.out.println("saw " + seen + " instead of " + expected);
            }
        }
        long longest = 0;
        for (int i = 0; i < 3_000_000; i++) {
            longest += a.numbers[i & 7] + table[i & 7];
        }
        System.out.println(longest);
    }
}
