import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.PriorityQueue;

/**
 * A small search engine in memory: generates pages with words and links, builds an inverted index,
 * ranks the pages by their links (PageRank), and answers queries.
 *
 * <p>Arguments: pages (default 300,000) and rounds of ranking (default 4). The results depend on
 * nothing else; the times, on standard error, do.
 */
public class LinkRank {
    /** A page: its words, its links, and its rank. */
    static final class Page {
        final int id;
        final String title;
        final int[] words;
        final List<Page> links = new ArrayList<>(4);
        Rank rank;

        Page(int id, String title, int[] words, Rank rank) {
            this.id = id;
            this.title = title;
            this.words = words;
            this.rank = rank;
        }
    }

    /** Immutable on purpose: each round allocates new ones and drops the old. */
    record Rank(double value, int round) {}

    private static final int VOCABULARY = 4000;
    private static final int WORDS = 12;
    private static final double DAMPING = 0.85;

    private final Page[] pages;
    private final Map<Integer, List<Page>> index = new HashMap<>();
    private final long start = System.nanoTime();
    private long state = 2024;

    LinkRank(int count) {
        pages = new Page[count];
    }

    public static void main(String[] args) {
        int count = args.length > 0 ? Integer.parseInt(args[0]) : 300_000;
        int rounds = args.length > 1 ? Integer.parseInt(args[1]) : 4;
        LinkRank engine = new LinkRank(count);
        timed("generate", engine::generate);
        timed("index", engine::buildIndex);
        timed("rank", () -> {
            for (int round = 1; round <= rounds; round++) {
                engine.rank(round);
            }
        });
        timed("answer", () -> {
            for (int word : new int[] {3, 77, 1234}) {
                engine.answer(word);
            }
        });
    }

    private static void timed(String name, Runnable phase) {
        long start = System.nanoTime();
        phase.run();
        System.err.printf(Locale.ROOT, "metric %s_s %.3f%n", name, (System.nanoTime() - start) / 1e9);
    }

    private void generate() {
        for (int i = 0; i < pages.length; i++) {
            int[] words = new int[WORDS];
            for (int k = 0; k < WORDS; k++) {
                // Squaring makes some words common and most rare.
                long r = random(VOCABULARY);
                words[k] = (int) (r * r / VOCABULARY);
            }
            pages[i] = new Page(i, "page-" + Integer.toString(i, 36), words, new Rank(1.0, 0));
            progress("generating", i, pages.length);
        }
        for (int i = 0; i < pages.length; i++) {
            int links = 2 + random(4);
            for (int k = 0; k < links; k++) {
                int near = Math.floorMod(i - 500 + random(1000), pages.length);
                pages[i].links.add(pages[random(20) == 0 ? random(1 + i / 10) : near]);
            }
            progress("linking", i, pages.length);
        }
    }

    private void buildIndex() {
        for (int i = 0; i < pages.length; i++) {
            for (int word : pages[i].words) {
                List<Page> list = index.computeIfAbsent(word, w -> new ArrayList<>());
                if (list.isEmpty() || list.get(list.size() - 1) != pages[i]) {
                    list.add(pages[i]);
                }
            }
            progress("indexing", i, pages.length);
        }
        System.out.println("indexed " + pages.length + " pages, " + index.size() + " words");
    }

    private void rank(int round) {
        double[] incoming = new double[pages.length];
        for (Page p : pages) {
            double share = p.rank.value() / p.links.size();
            for (Page to : p.links) {
                incoming[to.id] += share;
            }
        }
        double moved = 0;
        for (int i = 0; i < pages.length; i++) {
            Rank fresh = new Rank(1 - DAMPING + DAMPING * incoming[i], round);
            moved += Math.abs(fresh.value() - pages[i].rank.value());
            pages[i].rank = fresh;
            progress("ranking", i, pages.length);
        }
        System.out.printf("round %d: ranks moved by %.6f on average%n", round, moved / pages.length);
    }

    private void answer(int word) {
        PriorityQueue<Page> best = new PriorityQueue<>(Comparator.comparingDouble((Page p) -> p.rank.value()));
        List<Page> found = index.getOrDefault(word, List.of());
        for (Page p : found) {
            best.add(p);
            if (best.size() > 3) {
                best.remove();
            }
        }
        StringBuilder line = new StringBuilder();
        while (!best.isEmpty()) {
            Page p = best.remove();
            line.insert(0, String.format(" %s (%.3f)", p.title, p.rank.value()));
        }
        System.out.println("word " + word + ": " + found.size() + " pages, best:" + line);
    }

    private void progress(String what, int done, int total) {
        int step = total / 4;
        if (step > 0 && (done + 1) % step == 0) {
            System.err.printf("  %6.1f s  %-10s %3d %%%n", (System.nanoTime() - start) / 1e9, what,
                (done + 1) * 100L / total);
        }
    }

    private int random(int bound) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) ((state >>> 33) % bound);
    }
}
