package tables;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Rng;
import harness.Zipf;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;

/**
 * A shop on tables in memory: customers, items, orders and their lines, with hash and tree indexes. In each round
 * clients order, pay, change their address, look at their orders, and old orders are deleted; then queries over
 * everything run, with filters, joins, groups and orders.
 *
 * <p>Arguments: customers, items, orders at first, rounds, operations of a round, threads. Sixteen clients change
 * data of customers of their own only, and they share only sums of whole numbers, so the number of threads changes
 * nothing.
 */
public final class Shop {
    private static final int CLIENTS = 16;
    private static final String[] STATES = {"placed", "paid", "sent"};

    private final Table customers = new Table("customers",
        new Table.Column("customer", Long.class), new Table.Column("name", String.class),
        new Table.Column("city", String.class), new Table.Column("spent", Long.class)).hashIndex("city");
    private final Table items = new Table("items",
        new Table.Column("item", Long.class), new Table.Column("title", String.class),
        new Table.Column("category", String.class), new Table.Column("price", Long.class),
        new Table.Column("sold", Long.class)).hashIndex("category").treeIndex("price");
    private final Table orders = new Table("orders",
        new Table.Column("order", Long.class), new Table.Column("buyer", Long.class),
        new Table.Column("day", Integer.class), new Table.Column("state", String.class),
        new Table.Column("total", Long.class)).hashIndex("buyer").treeIndex("day");
    private final Table lines = new Table("lines",
        new Table.Column("line", Long.class), new Table.Column("of", Long.class),
        new Table.Column("article", Long.class), new Table.Column("quantity", Long.class),
        new Table.Column("amount", Long.class)).hashIndex("of");
    private final Client[] clients = new Client[CLIENTS];
    private final int customerCount;
    private final int itemCount;

    private Shop(int customerCount, int itemCount) {
        this.customerCount = customerCount;
        this.itemCount = itemCount;
    }

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "customers items orders rounds operations threads", 500, 200, 1000, 3, 2000, 2);
        Figures.require(n[0] >= CLIENTS && n[1] >= 2 && n[5] > 0, "there are customers, items, threads");
        new Shop(n[0], n[1]).run(n[2] / CLIENTS, n[3], n[4] / CLIENTS, n[5]);
    }

    private void run(int ordersEach, int rounds, int operationsEach, int threads) throws Exception {
        long start = System.nanoTime();
        fill();
        Crew.run("loader", threads, worker -> {
            for (int c = worker; c < CLIENTS; c += threads) {
                clients[c] = new Client(c);
                for (int i = 0; i < ordersEach; i++) {
                    clients[c].order(i * 100 / Math.max(1, ordersEach));
                }
            }
        });
        Figures.metric("load_s", Figures.seconds(start));
        Histogram[] times = new Histogram[threads];
        Arrays.setAll(times, i -> new Histogram());
        double updating = 0;
        double asking = 0;
        for (int round = 0; round < rounds; round++) {
            int day = 100 + round;
            start = System.nanoTime();
            Crew.run("client", threads, worker -> {
                for (int i = 0; i < operationsEach; i++) {
                    for (int c = worker; c < CLIENTS; c += threads) {
                        long begin = System.nanoTime();
                        clients[c].operate(day);
                        times[worker].add(System.nanoTime() - begin);
                    }
                }
            });
            updating += Figures.seconds(start);
            start = System.nanoTime();
            ask(round, threads);
            asking += Figures.seconds(start);
        }
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        Figures.metric("operations_per_s", all.total() / updating);
        Figures.metric("updates_s", updating);
        Figures.metric("queries_s", asking);
        all.report("operation");
        Figures.peak();
        Checksum seen = new Checksum();
        for (Client client : clients) {
            seen.add(client.seen.toString());
        }
        Figures.result("seen", seen);
        for (Table table : List.of(customers, items, orders, lines)) {
            Figures.require(table.isSound(), "an index is wrong");
        }
        check();
    }

    private void fill() {
        Rng rng = new Rng(900);
        for (long i = 0; i < customerCount; i++) {
            customers.insert(i, "customer " + rng.letters(12), "city-" + rng.skewed(50), 0L);
        }
        for (long i = 0; i < itemCount; i++) {
            items.insert(i, "item " + rng.letters(20), "category-" + rng.below(20), (long) rng.between(100, 9999), 0L);
        }
    }

    /** The queries, which threads share among them; results in the queries' order. */
    private void ask(int round, int threads) throws Exception {
        Query[] answers = new Query[6];
        Crew.run("query", Math.min(threads, answers.length), worker -> {
            for (int q = worker; q < answers.length; q += threads) {
                answers[q] = query(q, round);
            }
        });
        Checksum checksum = new Checksum();
        StringBuilder counts = new StringBuilder();
        for (Query answer : answers) {
            counts.append(' ').append(answer.rows().size());
            for (Object[] row : answer.rows()) {
                checksum.add(Arrays.toString(row));
            }
        }
        Figures.result("round " + round, checksum + counts.toString());
    }

    private Query query(int number, int round) {
        return switch (number) {
            // What is sold in each category?
            case 0 -> Query.from(lines).join(items, "article", "item")
                .group("category", "amount").order("sum", "category");
            // Who spends most?
            case 1 -> Query.from(orders).group("buyer", "total").order("sum", "buyer").limit(20);
            // Who in a city had paid in the last days?
            case 2 -> Query.from(orders, "day", 70 + round, 100 + round)
                .where("state", state -> state.equals("paid"))
                .join(customers, "buyer", "customer")
                .where("city", city -> city.equals("city-3"))
                .order("total", "order").limit(50);
            // Which cheap items of a category sell?
            case 3 -> Query.from(items, "price", 100L, 2000L)
                .where("category", category -> category.equals("category-" + (round % 20)))
                .order("sold", "item").limit(20);
            // What do people of a small city buy?
            case 4 -> Query.from(customers, "city", "city-" + (30 + round % 20))
                .join(orders, "customer", "buyer").join(lines, "order", "of")
                .group("article", "quantity").order("sum", "article").limit(30);
            default -> Query.from(orders).group("state", "total").order("sum", "state");
        };
    }

    /** Sums over orders, lines, items and customers agree. */
    private void check() {
        long[] sums = new long[4];
        orders.scan().forEach(row -> sums[0] += (Long) row[4]);
        lines.scan().forEach(row -> sums[1] += (Long) row[4]);
        customers.scan().forEach(row -> sums[2] += (Long) row[3]);
        long gone = Arrays.stream(clients).mapToLong(client -> client.removed).sum();
        Figures.require(sums[0] == sums[1], "orders and lines differ");
        Figures.require(sums[0] + gone == sums[2], "orders and customers differ");
        Figures.result("orders", orders.size() + " " + sums[0]);
        Figures.result("lines", lines.size());
    }

    private final class Client {
        private final int number;
        private final Rng rng;
        private final Zipf popular = new Zipf(itemCount, 0.8);
        private final Checksum seen = new Checksum();
        /** Existing orders, oldest first. */
        private final Deque<Long> mine = new ArrayDeque<>();
        private long nextOrder;
        private long nextLine;
        private long removed;

        Client(int number) {
            this.number = number;
            rng = new Rng(901 + number);
        }

        void operate(int day) {
            int kind = rng.below(100);
            if (kind < 25) {
                order(day);
                remove();
            } else if (kind < 45 && !mine.isEmpty()) {
                Long id = mine.getLast();
                orders.update(id, "state", state -> STATES[(Arrays.asList(STATES).indexOf(state) + 1) % 3]);
                orders.update(id, "day", before -> Math.max((Integer) before, day));
            } else if (kind < 55) {
                customers.update(customer(), "city", city -> "city-" + rng.skewed(50));
            } else if (kind < 80) {
                for (Object[] row : Query.from(orders, "buyer", customer()).order("day", "order").limit(5).rows()) {
                    seen.add(Arrays.toString(row));
                }
            } else {
                Object[] row = customers.get(customer());
                seen.add((String) row[2]).add((Long) row[3]);
            }
        }

        void order(int day) {
            Long id = nextOrder++ * CLIENTS + number;
            Long buyer = customer();
            long total = 0;
            for (int i = rng.between(1, 6); i > 0; i--) {
                Long item = (long) Zipf.scatter(popular.next(rng), itemCount);
                long quantity = rng.between(1, 5);
                long amount = quantity * (Long) items.get(item)[3];
                lines.insert(nextLine++ * CLIENTS + number, id, item, quantity, amount);
                items.update(item, "sold", sold -> (Long) sold + quantity);
                total += amount;
            }
            long all = total;
            orders.insert(id, buyer, day, STATES[0], all);
            customers.update(buyer, "spent", spent -> (Long) spent + all);
            mine.addLast(id);
        }

        /** Deletes the oldest order, with its lines. */
        private void remove() {
            Long id = mine.removeFirst();
            for (Object[] line : lines.equal("of", id)) {
                lines.delete(line[0]);
            }
            removed += (Long) orders.get(id)[4];
            orders.delete(id);
        }

        private Long customer() {
            return (long) (rng.below(customerCount / CLIENTS) * CLIENTS + number);
        }
    }
}
