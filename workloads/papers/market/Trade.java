package market;

/** Shares that went from one account to another. */
record Trade(long number, String symbol, long price, long quantity, int buyer, int seller) {}
