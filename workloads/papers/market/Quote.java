package market;

/** The summary of a symbol's trades. It is immutable; each trade makes another one. */
record Quote(String symbol, String company, long last, long low, long high, long volume) {
    Quote after(long price, long quantity) {
        return new Quote(symbol, company, price, Math.min(low, price), Math.max(high, price), volume + quantity);
    }
}
