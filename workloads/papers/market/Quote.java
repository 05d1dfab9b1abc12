package market;

/** What is known of a symbol's trades. Nothing of it changes; each trade makes another one. */
record Quote(String symbol, String company, long last, long low, long high, long volume) {
    Quote after(long price, long quantity) {
        return new Quote(symbol, company, price, Math.min(low, price), Math.max(high, price), volume + quantity);
    }
}
