package market;

/** To buy or to sell shares at a price or a better one. */
final class Order {
    final long id;
    final Account account;
    final String symbol;
    final boolean buys;
    final long price;
    final long quantity;
    long remaining;

    Order(long id, Account account, String symbol, boolean buys, long price, long quantity) {
        this.id = id;
        this.account = account;
        this.symbol = symbol;
        this.buys = buys;
        this.price = price;
        this.quantity = quantity;
        remaining = quantity;
    }
}
