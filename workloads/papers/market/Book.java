package market;

import java.util.ArrayList;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The open orders for one symbol. An order meets those of the other side by price, the best one first, and orders
 * of the same price in the order in which they came. A trade has the price of the order that was in the book before.
 *
 * <p>Invariant: the best bid is below the best ask; every order in the book has something remaining.
 */
final class Book {
    /** Levels by price, best first; a level's orders by number, oldest first. */
    private final TreeMap<Long, Map<Long, Order>> bids = new TreeMap<>(Collections.reverseOrder());
    private final TreeMap<Long, Map<Long, Order>> asks = new TreeMap<>();

    /** Two orders that met, and how many shares change hands at which price. */
    record Match(Order taker, Order maker, long quantity, long price) {}

    /** Matches an order as far as that is possible, and keeps the rest. Accounts are the caller's concern. */
    List<Match> place(Order order) {
        List<Match> matches = new ArrayList<>();
        TreeMap<Long, Map<Long, Order>> others = order.buys ? asks : bids;
        while (order.remaining > 0 && !others.isEmpty()) {
            Map.Entry<Long, Map<Long, Order>> level = others.firstEntry();
            long price = level.getKey();
            if (order.buys ? price > order.price : price < order.price) {
                break;
            }
            Order maker = level.getValue().values().iterator().next();
            long quantity = Math.min(order.remaining, maker.remaining);
            order.remaining -= quantity;
            maker.remaining -= quantity;
            matches.add(new Match(order, maker, quantity, price));
            if (maker.remaining == 0) {
                remove(others, maker);
            }
        }
        if (order.remaining > 0) {
            side(order).computeIfAbsent(order.price, price -> new LinkedHashMap<>(4)).put(order.id, order);
        }
        return matches;
    }

    void cancel(Order order) {
        remove(side(order), order);
    }

    /** The best price of an order to buy, or 0. */
    long bid() {
        return bids.isEmpty() ? 0 : bids.firstKey();
    }

    /** The best price of an order to sell, or 0. */
    long ask() {
        return asks.isEmpty() ? 0 : asks.firstKey();
    }

    boolean isSound() {
        boolean apart = bids.isEmpty() || asks.isEmpty() || bid() < ask();
        return apart && orders().stream().allMatch(order -> order.remaining > 0);
    }

    List<Order> orders() {
        List<Order> orders = new ArrayList<>();
        bids.values().forEach(level -> orders.addAll(level.values()));
        asks.values().forEach(level -> orders.addAll(level.values()));
        return orders;
    }

    private TreeMap<Long, Map<Long, Order>> side(Order order) {
        return order.buys ? bids : asks;
    }

    private static void remove(TreeMap<Long, Map<Long, Order>> side, Order order) {
        Map<Long, Order> level = side.get(order.price);
        level.remove(order.id);
        if (level.isEmpty()) {
            side.remove(order.price);
        }
    }
}
