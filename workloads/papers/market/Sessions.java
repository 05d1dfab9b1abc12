package market;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.Map;

/** The sessions of the users: up to a limit, beyond which the least recently used one ends first. */
final class Sessions {
    private static final int PAGES_MAX = 16;

    /** The state of a visitor. */
    static final class Session {
        final String token;
        final Account account;
        private final Deque<String> pages = new ArrayDeque<>();
        private final Map<String, Object> attributes = new LinkedHashMap<>(4);

        Session(String token, Account account) {
            this.token = token;
            this.account = account;
        }

        void visit(String page) {
            pages.addLast(page);
            if (pages.size() > PAGES_MAX) {
                pages.removeFirst();
            }
            attributes.merge("requests", 1L, (a, b) -> (Long) a + (Long) b);
        }

        Object requests() {
            return attributes.get("requests");
        }
    }

    private final Map<String, Session> byToken;

    Sessions(int sessionsMax) {
        byToken = new LinkedHashMap<>(16, 0.75f, true) {
            private static final long serialVersionUID = 1;

            @Override
            protected boolean removeEldestEntry(Map.Entry<String, Session> eldest) {
                return size() > sessionsMax;
            }
        };
    }

    Session begin(String token, Account account) {
        Session session = new Session(token, account);
        byToken.put(token, session);
        return session;
    }

    /** The session, or null if there is none any more. */
    Session find(String token) {
        return byToken.get(token);
    }

    void end(String token) {
        byToken.remove(token);
    }

    int size() {
        return byToken.size();
    }
}
