public class Recursion {
    static int depth(int n) {
        return n == 0 ? 0 : 1 + depth(n - 1);
    }

    static boolean even(int n) {
        return n == 0 || odd(n - 1);
    }

    static boolean odd(int n) {
        return n != 0 && even(n - 1);
    }

    static int solutions(int n, int row, int cols, int left, int right) {
        if (row == n) {
            return 1;
        }
        int count = 0;
        for (int c = 0; c < n; c++) {
            int a = 1 << c;
            int l = 1 << (row + c);
            int r = 1 << (row - c + n);
            if ((cols & a) == 0 && (left & l) == 0 && (right & r) == 0) {
                count += solutions(n, row + 1, cols | a, left | l, right | r);
            }
        }
        return count;
    }

    static void permute(char[] a, int k, StringBuilder out) {
        if (k == a.length) {
            out.append(a).append(' ');
            return;
        }
        for (int i = k; i < a.length; i++) {
            char t = a[k];
            a[k] = a[i];
            a[i] = t;
            permute(a, k + 1, out);
            a[i] = a[k];
            a[k] = t;
        }
    }

    static void hanoi(int n, int from, int to, int via, int[] moves) {
        if (n > 0) {
            hanoi(n - 1, from, via, to, moves);
            moves[0] = moves[0] * 31 + from * 3 + to;
            hanoi(n - 1, via, to, from, moves);
        }
    }

    public static void main(String[] args) {
        System.out.println(depth(2500));
        System.out.println(even(1000) + " " + odd(1001));
        System.out.println(solutions(6, 0, 0, 0, 0));
        StringBuilder sb = new StringBuilder();
        permute("abcd".toCharArray(), 0, sb);
        System.out.println(sb);
        int[] moves = new int[1];
        hanoi(8, 1, 3, 2, moves);
        System.out.println(moves[0]);
    }
}
