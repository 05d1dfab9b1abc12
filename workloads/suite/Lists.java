package suite;

/** Linked lists as functional programs use them: recursion over immutable cells. */
public class Lists {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(190, size); i > 0; i--) {
                sum = sum * 31 + length(tail(down(15), down(10), down(6)));
                List numbers = scramble(2000);
                List sorted = sort(numbers);
                sum = sum * 31 + hash(sorted);
                sum = sum * 31 + hash(reverse(sorted, null));
                sum = sum * 31 + hash(odd(append(sorted, numbers)));
            }
            return sum;
        });
    }

    /** A cell: a number and the rest. The empty list is null. */
    static final class List {
        final int first;
        final List rest;

        List(int first, List rest) {
            this.first = first;
            this.rest = rest;
        }
    }

    /** n, n - 1, ..., 1. */
    private static List down(int n) {
        return n == 0 ? null : new List(n, down(n - 1));
    }

    private static int length(List list) {
        return list == null ? 0 : 1 + length(list.rest);
    }

    private static boolean shorter(List a, List b) {
        List x = a;
        List y = b;
        while (y != null) {
            if (x == null) {
                return true;
            }
            x = x.rest;
            y = y.rest;
        }
        return false;
    }

    /** A function that calls itself a lot and decides by the lengths of lists. */
    private static List tail(List x, List y, List z) {
        if (!shorter(y, x)) {
            return z;
        }
        return tail(tail(x.rest, y, z), tail(y.rest, z, x), tail(z.rest, x, y));
    }

    private static List scramble(int count) {
        Harness.Rng rng = new Harness.Rng(count);
        List list = null;
        for (int i = 0; i < count; i++) {
            list = new List(rng.below(100_000), list);
        }
        return list;
    }

    private static List sort(List list) {
        if (list == null || list.rest == null) {
            return list;
        }
        List left = null;
        List right = null;
        for (List at = list; at != null; at = at.rest) {
            List swapped = right;
            right = new List(at.first, left);
            left = swapped;
        }
        return merge(sort(left), sort(right));
    }

    private static List merge(List a, List b) {
        if (a == null) {
            return b;
        }
        if (b == null) {
            return a;
        }
        return a.first <= b.first ? new List(a.first, merge(a.rest, b)) : new List(b.first, merge(a, b.rest));
    }

    private static List reverse(List list, List onto) {
        return list == null ? onto : reverse(list.rest, new List(list.first, onto));
    }

    private static List append(List a, List b) {
        return a == null ? b : new List(a.first, append(a.rest, b));
    }

    private static List odd(List list) {
        if (list == null) {
            return null;
        }
        List rest = odd(list.rest);
        return (list.first & 1) == 1 ? new List(list.first, rest) : rest;
    }

    private static int hash(List list) {
        int hash = 0;
        for (List at = list; at != null; at = at.rest) {
            hash = hash * 31 + at.first;
        }
        return hash;
    }
}
