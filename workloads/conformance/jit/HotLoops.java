// vm: -XX:CompileThreshold=1000
/** Loops that get hot in one call: every kind of local, on the way in and on the way out. */
public class HotLoops {
    static int classLoop;

    static {
        // A class initializer is called once.
        for (int i = 0; i < 200_000; i++) {
            classLoop += i ^ 3;
        }
    }

    int field;

    static String kinds(int n, long l, float f, double d, String s, byte b, char c, short h, boolean z) {
        int[] ints = new int[16];
        Object o = s;
        for (int i = 0; i < n; i++) {
            l += i * 3L;
            f += 0.5f;
            d = d * 1.0000001 + i;
            b += 1;
            c += 1;
            h -= 1;
            z = !z;
            ints[i & 15] += i;
            if (i % 10_000 == 0) {
                o = o + "," + i;
            }
        }
        int sum = 0;
        for (int value : ints) {
            sum += value;
        }
        return l + " " + f + " " + (long) d + " " + o + " " + b + " " + (int) c + " " + h + " " + z + " " + sum;
    }

    static long nested(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            for (int j = 0; j < i; j++) {
                int k = j;
                while (k > 0) {
                    sum += k;
                    k /= 2;
                }
                if ((sum & 1023) == 5) {
                    continue;
                }
                sum ^= i;
            }
        }
        return sum;
    }

    synchronized long locked(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) {
            field += i & 1;
            sum += field;
        }
        return sum + (Thread.holdsLock(this) ? 1 : 0);
    }

    static float floating(int n) {
        float f = 1;
        for (int i = 1; i < n; i++) {
            f += 1f / i;
        }
        return f;
    }

    static double wide(int n) {
        double d = 1;
        do {
            d += 1.0 / n;
        } while (--n > 0);
        return d;
    }

    static void nothing(int[] out) {
        for (int i = 0; i < 100_000; i++) {
            out[i & 7]++;
        }
    }

    static StringBuilder references(int n) {
        StringBuilder text = new StringBuilder();
        String last = "";
        for (int i = 0; i < n; i++) {
            String now = Integer.toString(i);
            if (now.length() > last.length()) {
                text.append(now).append(';');
            }
            last = now;
        }
        return text;
    }

    static int inSwitch(int n) {
        int state = 0;
        int steps = 0;
        while (steps < n) {
            switch (state) {
                case 0:
                    state = steps % 3 == 0 ? 1 : 2;
                    break;
                case 1:
                    state = 2;
                    break;
                case 2:
                    state = 1000;
                    break;
                default:
                    state = 0;
            }
            steps++;
        }
        return state + steps;
    }

    public static void main(String[] args) {
        System.out.println(classLoop);
        System.out.println(kinds(60_000, 5, 1, 2, "s", (byte) 1, 'a', (short) 9, true));
        System.out.println(nested(400));
        HotLoops object = new HotLoops();
        System.out.println(object.locked(200_000) + " " + Thread.holdsLock(object));
        System.out.println(floating(200_000) + " " + wide(200_000));
        int[] out = new int[8];
        nothing(out);
        System.out.println(out[0] + out[7]);
        System.out.println(references(100_000));
        System.out.println(inSwitch(300_000));
        long sum = 0;
        for (int i = 0; i < 300_000; i++) {
            sum += i % 7;
        }
        System.out.println(sum);
    }
}
