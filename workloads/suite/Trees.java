package suite;

import java.util.ArrayList;
import java.util.List;

/** Many short-lived trees beside a few that stay: allocation and collection. */
public class Trees {
    public static void main(String[] args) {
        Harness.run(args, size -> {
            long sum = 0;
            Tree kept = Tree.build(14);
            List<Tree> ring = new ArrayList<>();
            for (int i = Harness.scaled(1200, size); i > 0; i--) {
                int depth = 6 + i % 8;
                Tree tree = Tree.build(depth);
                sum = sum * 31 + tree.count();
                if (ring.size() < 8) {
                    ring.add(tree);
                } else {
                    sum += ring.set(i % 8, tree).mirror().depth();
                }
            }
            for (Tree tree : ring) {
                sum = sum * 31 + tree.count();
            }
            return sum * 31 + kept.count();
        });
    }

    static final class Tree {
        private final Tree left;
        private final Tree right;

        Tree(Tree left, Tree right) {
            this.left = left;
            this.right = right;
        }

        static Tree build(int depth) {
            return depth == 0 ? new Tree(null, null) : new Tree(build(depth - 1), build(depth - 1));
        }

        int count() {
            return left == null ? 1 : 1 + left.count() + right.count();
        }

        Tree mirror() {
            return left == null ? this : new Tree(right.mirror(), left.mirror());
        }

        int depth() {
            return left == null ? 0 : 1 + Math.max(left.depth(), right.depth());
        }
    }
}
