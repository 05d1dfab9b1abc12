import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;

/**
 * Order entry in the manner of TPC-C on an H2 database in memory: new orders, payments, order status, deliveries and
 * stock levels, by one terminal (a thread with a connection) for each warehouse, and the consistency conditions of the
 * benchmark's clause 3.3.2 at the end.
 *
 * <p>Arguments: warehouses, transactions of each, customers of a district, items. A terminal works on its own
 * warehouse only, so the contents of the database at the end depend on nothing else.
 */
public class OrderEntry {
    private static final String URL = "jdbc:h2:mem:orders;DB_CLOSE_DELAY=-1;LOCK_TIMEOUT=60000";
    private static final int DISTRICTS = 10;

    private final int warehouses;
    private final int transactions;
    private final int customers;
    private final int items;

    OrderEntry(int warehouses, int transactions, int customers, int items) {
        this.warehouses = warehouses;
        this.transactions = transactions;
        this.customers = customers;
        this.items = items;
    }

    public static void main(String[] args) throws Exception {
        int[] n = new int[] {2, 1000, 100, 1000};
        for (int i = 0; i < args.length; i++) {
            n[i] = Integer.parseInt(args[i]);
        }
        new OrderEntry(n[0], n[1], n[2], n[3]).run();
    }

    private void run() throws Exception {
        try (Connection connection = DriverManager.getConnection(URL)) {
            long start = System.nanoTime();
            createTables(connection);
            load(connection);
            Figures.metric("load_s", Figures.seconds(start));
            List<Terminal> terminals = new ArrayList<>();
            for (int w = 1; w <= warehouses; w++) {
                terminals.add(new Terminal(w));
            }
            start = System.nanoTime();
            terminals.forEach(Thread::start);
            for (Terminal terminal : terminals) {
                terminal.join();
            }
            double seconds = Figures.seconds(start);
            long[] nanos = new long[warehouses * transactions];
            int[] counts = new int[6];
            for (Terminal terminal : terminals) {
                if (terminal.failure != null) {
                    throw terminal.failure;
                }
                System.arraycopy(terminal.nanos, 0, nanos, (terminal.warehouse - 1) * transactions, transactions);
                for (int i = 0; i < counts.length; i++) {
                    counts[i] += terminal.counts[i];
                }
            }
            Figures.metric("run_s", seconds);
            Figures.metric("operations_per_s", nanos.length / seconds);
            Figures.latencies("transaction", nanos);
            String[] names = {"new-order", "payment", "order-status", "delivery", "stock-level", "rolled-back"};
            for (int i = 0; i < names.length; i++) {
                Figures.result(names[i], counts[i]);
            }
            check(connection);
            summarize(connection);
        }
    }

    private static void createTables(Connection connection) throws SQLException {
        String[] statements = {
            "CREATE TABLE warehouse (w_id INT PRIMARY KEY, w_name VARCHAR(10), w_tax DECIMAL(4,4), w_ytd DECIMAL(14,2))",
            "CREATE TABLE district (d_w_id INT, d_id INT, d_name VARCHAR(10), d_tax DECIMAL(4,4), d_ytd DECIMAL(14,2),"
                + " d_next_o_id INT, PRIMARY KEY (d_w_id, d_id))",
            "CREATE TABLE customer (c_w_id INT, c_d_id INT, c_id INT, c_last VARCHAR(16), c_credit CHAR(2),"
                + " c_discount DECIMAL(4,4), c_balance DECIMAL(14,2), c_ytd_payment DECIMAL(14,2), c_payment_cnt INT,"
                + " c_delivery_cnt INT, c_data VARCHAR(500), PRIMARY KEY (c_w_id, c_d_id, c_id))",
            "CREATE INDEX customer_name ON customer (c_w_id, c_d_id, c_last, c_id)",
            "CREATE TABLE item (i_id INT PRIMARY KEY, i_name VARCHAR(24), i_price DECIMAL(5,2), i_data VARCHAR(50))",
            "CREATE TABLE stock (s_w_id INT, s_i_id INT, s_quantity INT, s_ytd INT, s_order_cnt INT, s_data VARCHAR(50),"
                + " PRIMARY KEY (s_w_id, s_i_id))",
            "CREATE TABLE orders (o_w_id INT, o_d_id INT, o_id INT, o_c_id INT, o_carrier_id INT, o_ol_cnt INT,"
                + " PRIMARY KEY (o_w_id, o_d_id, o_id))",
            "CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)",
            "CREATE TABLE new_order (no_w_id INT, no_d_id INT, no_o_id INT, PRIMARY KEY (no_w_id, no_d_id, no_o_id))",
            "CREATE TABLE order_line (ol_w_id INT, ol_d_id INT, ol_o_id INT, ol_number INT, ol_i_id INT, ol_quantity INT,"
                + " ol_amount DECIMAL(8,2), ol_delivered BOOLEAN, PRIMARY KEY (ol_w_id, ol_d_id, ol_o_id, ol_number))",
            "CREATE TABLE history (h_w_id INT, h_d_id INT, h_c_id INT, h_amount DECIMAL(8,2))",
        };
        try (Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private void load(Connection connection) throws SQLException {
        connection.setAutoCommit(false);
        Rng rng = new Rng(1);
        Batch item = new Batch(connection, "INSERT INTO item VALUES (?, ?, ?, ?)");
        for (int i = 1; i <= items; i++) {
            item.add(i, rng.letters(14), cents(rng.between(100, 10000)), rng.letters(26));
        }
        item.finish();
        Batch warehouse = new Batch(connection, "INSERT INTO warehouse VALUES (?, ?, ?, 0)");
        Batch stock = new Batch(connection, "INSERT INTO stock VALUES (?, ?, ?, 0, 0, ?)");
        Batch district = new Batch(connection, "INSERT INTO district VALUES (?, ?, ?, ?, 0, 1)");
        Batch customer = new Batch(connection, "INSERT INTO customer VALUES (?, ?, ?, ?, ?, ?, -10, 10, 1, 0, ?)");
        for (int w = 1; w <= warehouses; w++) {
            warehouse.add(w, rng.letters(8), "0." + rng.between(1000, 1999));
            for (int i = 1; i <= items; i++) {
                stock.add(w, i, rng.between(10, 100), rng.letters(30));
            }
            for (int d = 1; d <= DISTRICTS; d++) {
                district.add(w, d, rng.letters(8), "0." + rng.between(1000, 1999));
                for (int c = 1; c <= customers; c++) {
                    String credit = rng.below(10) == 0 ? "BC" : "GC";
                    String discount = "0." + rng.between(1000, 4999);
                    customer.add(w, d, c, lastName(c % 100), credit, discount, rng.letters(rng.between(100, 300)));
                }
            }
        }
        warehouse.finish();
        stock.finish();
        district.finish();
        customer.finish();
        connection.commit();
        connection.setAutoCommit(true);
    }

    /** Conditions 1 to 4 of clause 3.3.2, and that no money got lost between warehouses, customers and history. */
    private static void check(Connection connection) throws SQLException {
        none(connection, "a warehouse's payments are those of its districts",
            "SELECT w_id FROM warehouse WHERE w_ytd <> (SELECT SUM(d_ytd) FROM district WHERE d_w_id = w_id)");
        none(connection, "the next order's number follows the last order's",
            "SELECT d_id FROM district WHERE d_next_o_id - 1 <>"
                + " (SELECT COALESCE(MAX(o_id), 0) FROM orders WHERE o_w_id = d_w_id AND o_d_id = d_id)");
        none(connection, "new orders have no gaps",
            "SELECT no_w_id FROM new_order GROUP BY no_w_id, no_d_id"
                + " HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)");
        none(connection, "orders know how many lines they have",
            "SELECT o_w_id FROM orders JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, COUNT(*) lines FROM order_line"
                + " GROUP BY ol_w_id, ol_d_id, ol_o_id) ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
                + " WHERE lines <> o_ol_cnt");
        none(connection, "an order is new until it is delivered",
            "SELECT o_w_id FROM orders LEFT JOIN new_order ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id"
                + " WHERE (no_o_id IS NULL) = (o_carrier_id IS NULL)");
        none(connection, "history has every payment",
            "SELECT w_id FROM warehouse WHERE w_ytd <>"
                + " (SELECT COALESCE(SUM(h_amount), 0) FROM history WHERE h_w_id = w_id)");
    }

    private static void none(Connection connection, String what, String sql) throws SQLException {
        try (Statement statement = connection.createStatement(); ResultSet rows = statement.executeQuery(sql)) {
            Figures.require(!rows.next(), what);
        }
        Figures.result("holds:", what);
    }

    /** Every row of every table is part of a checksum of the table, in the order of its key. */
    private static void summarize(Connection connection) throws SQLException {
        String[][] tables = {
            {"warehouse", "w_id"}, {"district", "d_w_id, d_id"}, {"customer", "c_w_id, c_d_id, c_id"},
            {"stock", "s_w_id, s_i_id"}, {"orders", "o_w_id, o_d_id, o_id"}, {"new_order", "no_w_id, no_d_id, no_o_id"},
            {"order_line", "ol_w_id, ol_d_id, ol_o_id, ol_number"}, {"history", "h_w_id, h_d_id, h_c_id, h_amount"},
        };
        for (String[] table : tables) {
            Checksum checksum = new Checksum();
            long rows = 0;
            String sql = "SELECT * FROM " + table[0] + " ORDER BY " + table[1];
            try (Statement statement = connection.createStatement(); ResultSet row = statement.executeQuery(sql)) {
                int columns = row.getMetaData().getColumnCount();
                while (row.next()) {
                    rows++;
                    for (int i = 1; i <= columns; i++) {
                        checksum.add(String.valueOf(row.getString(i)));
                    }
                }
            }
            Figures.result(table[0], rows + " rows " + checksum);
        }
    }

    private static String cents(int cents) {
        return cents / 100 + "." + cents / 10 % 10 + cents % 10;
    }

    private static String lastName(int number) {
        String[] syllables = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"};
        return syllables[number / 10 % 10] + syllables[number % 10];
    }

    /** Rows that are inserted some hundred at a time. */
    private static final class Batch {
        private final PreparedStatement statement;
        private int pending;

        Batch(Connection connection, String sql) throws SQLException {
            statement = connection.prepareStatement(sql);
        }

        void add(Object... values) throws SQLException {
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            statement.addBatch();
            if (++pending == 500) {
                statement.executeBatch();
                pending = 0;
            }
        }

        void finish() throws SQLException {
            statement.executeBatch();
            statement.close();
        }
    }

    /** One warehouse's clerk. */
    private final class Terminal extends Thread {
        final int warehouse;
        final long[] nanos = new long[transactions];
        final int[] counts = new int[6];
        Exception failure;
        private final Rng rng;
        private Connection connection;

        Terminal(int warehouse) {
            super("terminal-" + warehouse);
            this.warehouse = warehouse;
            rng = new Rng(1000 + warehouse);
        }

        @Override
        public void run() {
            try (Connection opened = DriverManager.getConnection(URL)) {
                connection = opened;
                connection.setAutoCommit(false);
                for (int i = 0; i < transactions; i++) {
                    long start = System.nanoTime();
                    transact(rng.below(100));
                    nanos[i] = System.nanoTime() - start;
                }
            } catch (Exception exception) {
                failure = exception;
            }
        }

        private void transact(int kind) throws SQLException {
            if (kind < 45) {
                counts[newOrder() ? 0 : 5]++;
            } else if (kind < 88) {
                payment();
                counts[1]++;
            } else if (kind < 92) {
                orderStatus();
                counts[2]++;
            } else if (kind < 96) {
                deliver();
                counts[3]++;
            } else {
                stockLevel();
                counts[4]++;
            }
        }

        /** One in a hundred names an item that does not exist and is rolled back, as the benchmark has it. */
        private boolean newOrder() throws SQLException {
            int district = rng.between(1, DISTRICTS);
            int customer = 1 + rng.skewed(customers);
            int lines = rng.between(5, 15);
            boolean wrong = rng.below(100) == 0;
            int number = number("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR UPDATE",
                warehouse, district);
            update("UPDATE district SET d_next_o_id = ? WHERE d_w_id = ? AND d_id = ?", number + 1, warehouse, district);
            update("INSERT INTO orders VALUES (?, ?, ?, ?, NULL, ?)", warehouse, district, number, customer, lines);
            update("INSERT INTO new_order VALUES (?, ?, ?)", warehouse, district, number);
            for (int line = 1; line <= lines; line++) {
                int item = wrong && line == lines ? items + 1 : 1 + rng.skewed(items);
                int quantity = rng.between(1, 10);
                int price = number("SELECT CAST(i_price * 100 AS INT) FROM item WHERE i_id = ?", item);
                if (price < 0) {
                    connection.rollback();
                    return false;
                }
                int stock = number("SELECT s_quantity FROM stock WHERE s_w_id = ? AND s_i_id = ?", warehouse, item);
                int left = stock - quantity >= 10 ? stock - quantity : stock - quantity + 91;
                update("UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1"
                    + " WHERE s_w_id = ? AND s_i_id = ?", left, quantity, warehouse, item);
                update("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, ?, FALSE)",
                    warehouse, district, number, line, item, quantity, cents(price * quantity));
            }
            connection.commit();
            return true;
        }

        private void payment() throws SQLException {
            int district = rng.between(1, DISTRICTS);
            int customer = 1 + rng.skewed(customers);
            if (rng.below(100) < 60) {
                customer = byName(district, lastName(customer % 100));
            }
            String amount = cents(rng.between(100, 500000));
            update("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, warehouse);
            update("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, warehouse, district);
            update("UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?,"
                + " c_payment_cnt = c_payment_cnt + 1, c_data = CASE c_credit WHEN 'BC' THEN"
                + " SUBSTRING(CAST(c_id AS VARCHAR) || c_data FROM 1 FOR 400) ELSE c_data END"
                + " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, amount, warehouse, district, customer);
            update("INSERT INTO history VALUES (?, ?, ?, ?)", warehouse, district, customer, amount);
            connection.commit();
        }

        /** The middle one of the customers with the name. */
        private int byName(int district, String name) throws SQLException {
            List<Integer> found = numbers("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?"
                + " ORDER BY c_id", warehouse, district, name);
            Figures.require(!found.isEmpty(), "nobody is called " + name);
            return found.get(found.size() / 2);
        }

        private void orderStatus() throws SQLException {
            int district = rng.between(1, DISTRICTS);
            int customer = 1 + rng.skewed(customers);
            int order = number("SELECT o_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ?"
                + " ORDER BY o_id DESC LIMIT 1", warehouse, district, customer);
            if (order > 0) {
                List<Integer> lines = numbers("SELECT ol_i_id FROM order_line WHERE ol_w_id = ? AND ol_d_id = ?"
                    + " AND ol_o_id = ?", warehouse, district, order);
                Figures.require(lines.size() >= 5, "an order has too few lines");
            }
            connection.commit();
        }

        private void deliver() throws SQLException {
            int carrier = rng.between(1, 10);
            for (int district = 1; district <= DISTRICTS; district++) {
                int order = number("SELECT MIN(no_o_id) FROM new_order WHERE no_w_id = ? AND no_d_id = ?",
                    warehouse, district);
                if (order <= 0) {
                    continue;
                }
                update("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?",
                    warehouse, district, order);
                update("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                    carrier, warehouse, district, order);
                update("UPDATE order_line SET ol_delivered = TRUE WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?",
                    warehouse, district, order);
                update("UPDATE customer SET c_delivery_cnt = c_delivery_cnt + 1, c_balance = c_balance +"
                    + " (SELECT SUM(ol_amount) FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?)"
                    + " WHERE c_w_id = ? AND c_d_id = ? AND c_id ="
                    + " (SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?)",
                    warehouse, district, order, warehouse, district, warehouse, district, order);
            }
            connection.commit();
        }

        private void stockLevel() throws SQLException {
            int district = rng.between(1, DISTRICTS);
            int next = number("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", warehouse, district);
            number("SELECT COUNT(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id AND s_i_id = ol_i_id"
                + " WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_quantity < ?",
                warehouse, district, next, next - 20, rng.between(10, 20));
            connection.commit();
        }

        /** The first column of the first row; -1 if there is none, or null. */
        private int number(String sql, Object... values) throws SQLException {
            List<Integer> found = numbers(sql, values);
            return found.isEmpty() ? -1 : found.get(0);
        }

        private List<Integer> numbers(String sql, Object... values) throws SQLException {
            try (PreparedStatement statement = prepare(sql, values); ResultSet rows = statement.executeQuery()) {
                List<Integer> found = new ArrayList<>();
                while (rows.next()) {
                    int value = rows.getInt(1);
                    found.add(rows.wasNull() ? -1 : value);
                }
                return found;
            }
        }

        private void update(String sql, Object... values) throws SQLException {
            try (PreparedStatement statement = prepare(sql, values)) {
                statement.executeUpdate();
            }
        }

        /** H2 keeps the plans of recent statements of a connection, so preparing again is cheap. */
        private PreparedStatement prepare(String sql, Object... values) throws SQLException {
            PreparedStatement statement = connection.prepareStatement(sql);
            for (int i = 0; i < values.length; i++) {
                statement.setObject(i + 1, values[i]);
            }
            return statement;
        }
    }
}
