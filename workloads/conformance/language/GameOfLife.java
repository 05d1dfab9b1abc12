// zeal
import java.util.Arrays;

public class GameOfLife {
    public static void main(String[] args) {
        boolean[][] cells = new boolean[24][40];
        int[][] glider = {{1, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {10, 10}, {10, 11}, {10, 12}, {11, 11}};
        for (int[] p : glider) {
            cells[p[0]][p[1]] = true;
        }
        for (int step = 0; step < 25; step++) {
            boolean[][] next = new boolean[cells.length][];
            for (int y = 0; y < cells.length; y++) {
                next[y] = new boolean[cells[y].length];
                for (int x = 0; x < cells[y].length; x++) {
                    int n = 0;
                    for (int dy = -1; dy <= 1; dy++) {
                        for (int dx = -1; dx <= 1; dx++) {
                            int yy = Math.floorMod(y + dy, cells.length);
                            int xx = Math.floorMod(x + dx, cells[y].length);
                            n += (dy != 0 || dx != 0) && cells[yy][xx] ? 1 : 0;
                        }
                    }
                    next[y][x] = n == 3 || n == 2 && cells[y][x];
                }
            }
            cells = next;
        }
        for (boolean[] row : cells) {
            StringBuilder sb = new StringBuilder();
            for (boolean c : row) {
                sb.append(c ? '#' : '.');
            }
            System.out.println(sb);
        }
        System.out.println(Arrays.deepHashCode(cells));
    }
}
