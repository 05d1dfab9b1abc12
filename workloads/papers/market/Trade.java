package market;

/** Shares that moved from one account to another. */
record Trade(long number, String symbol, long price, long quantity, int buyer, int seller) {}
