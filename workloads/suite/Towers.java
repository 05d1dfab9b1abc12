package suite;

/** Towers of Hanoi with disks as objects, and queens on a chess board: recursion and small arrays. */
public class Towers {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(160, size); i > 0; i--) {
                Game game = new Game(16);
                game.move(16, 0, 1);
                sum = sum * 31 + game.moves;
                sum = sum * 31 + new Board(8).solutions(0);
            }
            return sum;
        });
    }

    static final class Disk {
        final int width;
        Disk below;

        Disk(int width) {
            this.width = width;
        }
    }

    static final class Game {
        private final Disk[] tops = new Disk[3];
        private int moves;

        Game(int disks) {
            for (int width = disks; width > 0; width--) {
                push(0, new Disk(width));
            }
        }

        private void push(int pile, Disk disk) {
            Disk top = tops[pile];
            if (top != null && disk.width >= top.width) {
                throw new IllegalStateException("a disk on a smaller one");
            }
            disk.below = top;
            tops[pile] = disk;
        }

        private Disk pop(int pile) {
            Disk top = tops[pile];
            if (top == null) {
                throw new IllegalStateException("an empty pile");
            }
            tops[pile] = top.below;
            top.below = null;
            return top;
        }

        void move(int disks, int from, int to) {
            if (disks == 1) {
                push(to, pop(from));
                moves++;
                return;
            }
            int other = 3 - from - to;
            move(disks - 1, from, other);
            move(1, from, to);
            move(disks - 1, other, to);
        }
    }

    static final class Board {
        private final boolean[] columns;
        private final boolean[] rising;
        private final boolean[] falling;

        Board(int side) {
            columns = new boolean[side];
            rising = new boolean[2 * side];
            falling = new boolean[2 * side];
        }

        int solutions(int row) {
            int side = columns.length;
            if (row == side) {
                return 1;
            }
            int found = 0;
            for (int column = 0; column < side; column++) {
                if (free(row, column)) {
                    set(row, column, true);
                    found += solutions(row + 1);
                    set(row, column, false);
                }
            }
            return found;
        }

        private boolean free(int row, int column) {
            return !columns[column] && !rising[row + column] && !falling[row - column + columns.length];
        }

        private void set(int row, int column, boolean taken) {
            columns[column] = taken;
            rising[row + column] = taken;
            falling[row - column + columns.length] = taken;
        }
    }
}
