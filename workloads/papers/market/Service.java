package market;

import java.util.LinkedHashMap;
import java.util.Map;

/** Requests and replies as text, as a web service has them: pairs of names and values come in, a document comes out. */
final class Service {
    private final Exchange exchange;
    private final Sessions sessions;
    private int logins;

    Service(Exchange exchange, Sessions sessions) {
        this.exchange = exchange;
        this.sessions = sessions;
    }

    String answer(String request) {
        Map<String, String> fields = new LinkedHashMap<>();
        for (String pair : request.split("&")) {
            int equals = pair.indexOf('=');
            fields.put(pair.substring(0, equals), pair.substring(equals + 1));
        }
        StringBuilder reply = new StringBuilder(256).append("<reply>");
        String action = fields.get("action");
        if (action.equals("login")) {
            Account account = exchange.account(Integer.parseInt(fields.get("user")));
            String token = account.id + "-" + ++logins;
            sessions.begin(token, account).visit(action);
            return reply.append("<token>").append(token).append("</token></reply>").toString();
        }
        Sessions.Session session = sessions.find(fields.get("session"));
        if (session == null) {
            return reply.append("<expired/></reply>").toString();
        }
        session.visit(action);
        answer(action, fields, session, reply);
        return reply.append("</reply>").toString();
    }

    private void answer(String action, Map<String, String> fields, Sessions.Session session, StringBuilder reply) {
        Account account = session.account;
        switch (action) {
            case "quote" -> quote(fields.get("symbol"), reply);
            case "home" -> {
                reply.append("<welcome>").append(account.name).append("</welcome><cash>").append(account.cash());
                reply.append("</cash><requests>").append(session.requests()).append("</requests>");
            }
            case "portfolio" -> portfolio(account, reply);
            case "history" -> account.trades().descendingIterator().forEachRemaining(
                trade -> reply.append("<trade>").append(trade).append("</trade>"));
            case "buy", "sell" -> {
                long price = Long.parseLong(fields.get("price"));
                long quantity = Long.parseLong(fields.get("quantity"));
                Order order =
                    exchange.place(account, fields.get("symbol"), action.equals("buy"), price, quantity);
                reply.append(order == null ? "<refused/>" : "<remaining>" + order.remaining + "</remaining>");
            }
            case "cancel" -> {
                if (account.open.isEmpty()) {
                    reply.append("<none/>");
                } else {
                    Order oldest = account.open.values().iterator().next();
                    exchange.cancel(oldest);
                    reply.append("<cancelled>").append(oldest.id).append("</cancelled>");
                }
            }
            case "profile" -> {
                account.describe("address", fields.get("address"));
                reply.append("<profile>").append(account.description()).append("</profile>");
            }
            case "logout" -> sessions.end(session.token);
            default -> reply.append("<unknown>").append(action).append("</unknown>");
        }
    }

    private void quote(String symbol, StringBuilder reply) {
        Book book = exchange.book(symbol);
        reply.append("<quote>").append(exchange.quote(symbol)).append("</quote><bid>").append(book.bid());
        reply.append("</bid><ask>").append(book.ask()).append("</ask>");
    }

    private void portfolio(Account account, StringBuilder reply) {
        long value = 0;
        for (Map.Entry<String, Long> holding : account.shares().entrySet()) {
            long last = exchange.quote(holding.getKey()).last();
            value += last * holding.getValue();
            reply.append("<holding><symbol>").append(holding.getKey()).append("</symbol><shares>");
            reply.append(holding.getValue()).append("</shares><last>").append(last).append("</last></holding>");
        }
        reply.append("<value>").append(value).append("</value>");
    }
}
