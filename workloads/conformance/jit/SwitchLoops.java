/** Cases that are loops over what other cases use, too: a value loaded before one's loop is missing in the others. */
public class SwitchLoops {
    static double step = 0.5;

    static double five(int key, double value, int rounds) {
        switch (key) {
            case 1:
                do {
                    value = Math.sqrt(value + step);
                } while (--rounds > 0);
                break;
            case 10:
                value += 1;
                break;
            case 100:
                value += 2;
                break;
            case 1000:
                value += 3;
                break;
            case 10000:
                value += step;
                break;
        }
        return value;
    }

    static double behind(int key, double value, int rounds) {
        switch (key) {
            case -5:
                do {
                    value = Math.sqrt(value + step);
                } while (--rounds > 0);
                break;
            case 10:
            case 100:
            case 1000:
            case 10000:
            case 100000:
                value += 2;
                break;
            default:
                value -= 1;
        }
        return value + step;
    }

    public static void main(String[] args) {
        double sum = 0;
        for (int i = 0; i < 100_000; i++) {
            sum += five(1, i, 3) + five(10000, i, 3) + five(i % 1001, i, 2);
            sum -= behind(-5, i, 3) + behind(100, i, 3) + behind(i, i, 1);
            if (i == 50_000) {
                step = 0.25;
            }
        }
        System.out.println(sum);
    }
}
