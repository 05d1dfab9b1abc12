package market;

import harness.Figures;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A market with its accounts, books and sessions. One thread at a time uses it.
 *
 * <p>Invariants, which {@link #audit} proves: money and shares are neither made nor lost but by deposits and issues;
 * the reserved amounts are exactly those that open orders need.
 */
final class Exchange {
    /** The fee of the exchange for a buyer's order, in cents. */
    private static final long FEE = 495;

    private final int historyMax;
    private final List<Account> accounts = new ArrayList<>();
    private final Map<String, Book> books = new TreeMap<>();
    private final Map<String, Quote> quotes = new TreeMap<>();
    private final Map<String, Long> issued = new LinkedHashMap<>();
    private long deposits;
    private long fees;
    private long orders;
    private long trades;

    /** A market that remembers this many orders and trades of each account. */
    Exchange(int historyMax) {
        this.historyMax = historyMax;
    }

    void list(String symbol, String company, long price) {
        books.put(symbol, new Book());
        quotes.put(symbol, new Quote(symbol, company, price, price, price, 0));
        issued.put(symbol, 0L);
    }

    Account register(String name, long cash) {
        Account account = new Account(accounts.size(), name, cash);
        accounts.add(account);
        deposits += cash;
        return account;
    }

    void issue(Account account, String symbol, long count) {
        account.receive(symbol, count);
        issued.merge(symbol, count, Long::sum);
    }

    Account account(int id) {
        return accounts.get(id);
    }

    int accounts() {
        return accounts.size();
    }

    long trades() {
        return trades;
    }

    Quote quote(String symbol) {
        return quotes.get(symbol);
    }

    Book book(String symbol) {
        return books.get(symbol);
    }

    /** Places an order and settles its trades; null if the account lacks the money or the shares. */
    Order place(Account account, String symbol, boolean buys, long price, long quantity) {
        if (buys ? account.cash() < price * quantity + FEE
                : account.shares().getOrDefault(symbol, 0L) < quantity) {
            return null;
        }
        if (buys) {
            account.pay(FEE);
            fees += FEE;
            account.reserveCash(price * quantity);
        } else {
            account.reserveShares(symbol, quantity);
        }
        Order order = new Order(++orders, account, symbol, buys, price, quantity);
        account.open.put(order.id, order);
        for (Book.Match match : books.get(symbol).place(order)) {
            settle(match);
        }
        return order;
    }

    /** Cancels the rest of an order. */
    void cancel(Order order) {
        books.get(order.symbol).cancel(order);
        if (order.buys) {
            order.account.spendReserved(0, order.price * order.remaining);
        } else {
            order.account.spendReservedShares(order.symbol, 0, order.remaining);
        }
        order.account.close(order, historyMax);
    }

    private void settle(Book.Match match) {
        Order buy = match.taker().buys ? match.taker() : match.maker();
        Order sell = match.taker().buys ? match.maker() : match.taker();
        long quantity = match.quantity();
        long cost = match.price() * quantity;
        buy.account.spendReserved(cost, buy.price * quantity - cost);
        sell.account.receiveCash(cost);
        sell.account.spendReservedShares(sell.symbol, quantity, 0);
        buy.account.receive(buy.symbol, quantity);
        Trade trade =
            new Trade(++trades, buy.symbol, match.price(), quantity, buy.account.id, sell.account.id);
        buy.account.remember(trade, historyMax);
        sell.account.remember(trade, historyMax);
        quotes.computeIfPresent(buy.symbol, (symbol, quote) -> quote.after(match.price(), quantity));
        for (Order order : List.of(buy, sell)) {
            if (order.remaining == 0) {
                order.account.close(order, historyMax);
            }
        }
    }

    /** Ends the program if anything got lost. */
    void audit() {
        long cash = fees;
        for (Account account : accounts) {
            if (!account.isSound()) {
                Figures.wrong("account " + account.id + " is below zero");
            }
            cash += account.allCash();
        }
        if (cash != deposits) {
            Figures.wrong("there are " + cash + " cents where " + deposits + " were paid in");
        }
        for (Map.Entry<String, Book> entry : books.entrySet()) {
            String symbol = entry.getKey();
            if (!entry.getValue().isSound()) {
                Figures.wrong("the book of " + symbol + " is crossed");
            }
            long held = 0;
            for (Account account : accounts) {
                held += account.allShares(symbol);
            }
            Figures.require(held == issued.get(symbol), held + " shares of " + symbol);
            for (Order order : entry.getValue().orders()) {
                if (order.account.open.get(order.id) != order) {
                    Figures.wrong("order " + order.id + " is nobody's");
                }
            }
        }
    }
}
