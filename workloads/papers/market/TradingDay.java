package market;

import harness.Checksum;
import harness.Crew;
import harness.Figures;
import harness.Histogram;
import harness.Numbers;
import harness.Pace;
import harness.Rng;
import java.util.Arrays;
import java.util.List;

/**
 * A day at eight stock markets: customers log in, look at quotes and portfolios, buy, sell, cancel and log out. At
 * the end an audit finds every cent and every share.
 *
 * <p>Arguments: customers, sessions at a time, requests, orders and trades that are remembered of a customer,
 * threads, requests a second of all (0: as fast as they are answered). Latencies are measured against the moment at
 * which a request was meant to come.
 *
 * <p>Each market is used by one thread, and a thread serves several in turn: their number changes no reply.
 */
public final class TradingDay {
    private static final int MARKETS = 8;
    private static final int SYMBOLS = 50;

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "customers sessions requests history threads requests-a-second",
            800, 200, 40000, 20, 2, 0);
        Figures.require(n[0] >= MARKETS && n[1] >= MARKETS && n[4] > 0, "there are customers, sessions, threads");
        Customers[] markets = new Customers[MARKETS];
        int threads = n[4];
        long start = System.nanoTime();
        Crew.run("opening", threads, worker -> {
            for (int m = worker; m < MARKETS; m += threads) {
                markets[m] = new Customers(m, n[0] / MARKETS, n[1] / MARKETS, n[3]);
            }
        });
        Figures.metric("load_s", Figures.seconds(start));
        Histogram[] times = new Histogram[threads];
        start = System.nanoTime();
        int requests = n[2] / MARKETS;
        Crew.run("service", threads, worker -> {
            times[worker] = new Histogram();
            Pace pace = new Pace((double) n[5] / threads);
            for (int i = 0; i < requests && worker < MARKETS; i++) {
                for (int m = worker; m < MARKETS; m += threads) {
                    long intended = pace.await();
                    markets[m].request();
                    times[worker].add(System.nanoTime() - intended);
                }
            }
        });
        double seconds = Figures.seconds(start);
        Histogram all = new Histogram();
        Arrays.stream(times).forEach(all::add);
        Figures.metric("run_s", seconds);
        Figures.metric("operations_per_s", all.total() / seconds);
        all.report("request");
        Figures.peak();
        Checksum checksum = new Checksum();
        long trades = 0;
        for (Customers market : markets) {
            market.exchange.audit();
            trades += market.exchange.trades();
            checksum.add(market.replies.toString());
        }
        Figures.result("requests", all.total());
        Figures.result("trades", trades);
        Figures.result("replies", checksum);
    }

    /** A market and its traders. */
    private static final class Customers {
        private final Exchange exchange;
        private final Service service;
        private final Checksum replies = new Checksum();
        private final Rng rng;
        /** The tokens that customers believe to have. */
        private String[] tokens;

        Customers(int market, int customers, int sessions, int history) {
            exchange = new Exchange(history);
            service = new Service(exchange, new Sessions(sessions));
            rng = new Rng(800 + market);
            tokens = new String[customers];
            for (int s = 0; s < SYMBOLS; s++) {
                exchange.list(symbol(s), "Company " + rng.letters(20), rng.between(1000, 20000));
            }
            for (int c = 0; c < customers; c++) {
                register();
            }
        }

        void request() {
            int user = rng.below(tokens.length);
            if (tokens[user] == null) {
                String reply = service.answer("action=login&user=" + user);
                tokens[user] = reply.substring(reply.indexOf("<token>") + 7, reply.indexOf("</token>"));
            }
            String reply = service.answer(choose(user) + "&session=" + tokens[user]);
            if (reply.equals("<reply><expired/></reply>")) {
                tokens[user] = null;
            }
            replies.add(reply);
        }

        private String choose(int user) {
            int kind = rng.below(100);
            String symbol = symbol(rng.skewed(SYMBOLS));
            if (kind < 25) {
                return "action=quote&symbol=" + symbol;
            } else if (kind < 40) {
                return "action=home";
            } else if (kind < 50) {
                return "action=portfolio";
            } else if (kind < 55) {
                return "action=history";
            } else if (kind < 87) {
                boolean buys = kind < 71;
                List<String> held = buys ? List.of() : List.copyOf(exchange.account(user).shares().keySet());
                if (!held.isEmpty()) {
                    symbol = held.get(rng.below(held.size()));
                }
                // Around the last price, so that about half of the orders meet another one.
                long last = exchange.quote(symbol).last();
                long price = Math.max(1, last + last * rng.between(-20, 20) / 1000);
                return "action=" + (buys ? "buy" : "sell") + "&symbol=" + symbol + "&price=" + price
                    + "&quantity=" + rng.between(1, 40);
            } else if (kind < 95) {
                return "action=cancel";
            } else if (kind < 97) {
                return "action=profile&address=" + rng.letters(rng.between(20, 60));
            } else if (kind < 98) {
                tokens = Arrays.copyOf(tokens, tokens.length + (rng.below(10) == 0 ? 1 : 0));
                if (tokens.length > exchange.accounts()) {
                    register();
                }
                return "action=home";
            }
            return "action=logout";
        }

        private void register() {
            Account account = exchange.register("customer " + rng.letters(12), rng.between(1_000_000, 20_000_000));
            account.describe("mail", rng.letters(8) + "@" + rng.letters(8) + ".example");
            account.describe("address", rng.letters(rng.between(20, 60)));
            account.describe("card", Integer.toString(rng.next()));
            for (int i = rng.between(2, 8); i > 0; i--) {
                exchange.issue(account, symbol(rng.skewed(SYMBOLS)), rng.between(10, 500));
            }
        }

        private static String symbol(int number) {
            return "S" + number;
        }
    }
}
