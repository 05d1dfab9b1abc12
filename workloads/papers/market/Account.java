package market;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.TreeMap;

/**
 * A customer's money and shares. The amount that open orders may still need is reserved: it belongs to the customer,
 * and cannot be spent twice.
 */
final class Account {
    final int id;
    final String name;
    private final Map<String, String> profile = new TreeMap<>();
    private final Map<String, Long> shares = new TreeMap<>();
    private final Map<String, Long> reservedShares = new TreeMap<>();
    /** By number, oldest first. */
    final Map<Long, Order> open = new LinkedHashMap<>();
    private final Deque<Order> closed = new ArrayDeque<>();
    private final Deque<Trade> trades = new ArrayDeque<>();
    private long cash;
    private long reservedCash;

    Account(int id, String name, long cash) {
        this.id = id;
        this.name = name;
        this.cash = cash;
    }

    long cash() {
        return cash;
    }

    long allCash() {
        return cash + reservedCash;
    }

    Map<String, Long> shares() {
        return shares;
    }

    long allShares(String symbol) {
        return shares.getOrDefault(symbol, 0L) + reservedShares.getOrDefault(symbol, 0L);
    }

    Deque<Trade> trades() {
        return trades;
    }

    void describe(String what, String text) {
        profile.put(what, text);
    }

    String description() {
        return profile.toString();
    }

    void pay(long cents) {
        cash -= cents;
    }

    void reserveCash(long cents) {
        cash -= cents;
        reservedCash += cents;
    }

    void reserveShares(String symbol, long count) {
        change(shares, symbol, -count);
        change(reservedShares, symbol, count);
    }

    /** Reserved money is paid to a seller, or returned. */
    void spendReserved(long spent, long back) {
        reservedCash -= spent + back;
        cash += back;
    }

    void spendReservedShares(String symbol, long spent, long back) {
        change(reservedShares, symbol, -spent - back);
        change(shares, symbol, back);
    }

    void receive(String symbol, long count) {
        change(shares, symbol, count);
    }

    void receiveCash(long cents) {
        cash += cents;
    }

    /** An order is through; the oldest ones are forgotten. */
    void close(Order order, int historyMax) {
        open.remove(order.id);
        closed.addLast(order);
        if (closed.size() > historyMax) {
            closed.removeFirst();
        }
    }

    void remember(Trade trade, int historyMax) {
        trades.addLast(trade);
        if (trades.size() > historyMax) {
            trades.removeFirst();
        }
    }

    boolean isSound() {
        return cash >= 0 && reservedCash >= 0 && shares.values().stream().allMatch(count -> count > 0)
            && reservedShares.values().stream().allMatch(count -> count > 0);
    }

    private static void change(Map<String, Long> counts, String symbol, long by) {
        if (by != 0) {
            counts.merge(symbol, by, (a, b) -> a + b == 0 ? null : a + b);
        }
    }
}
