package suite;

import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Regular expressions over a log: matching, groups, alternatives, replacing, splitting. */
public class Regexes {
    private static final Pattern LINE = Pattern.compile(
        "(\\d{4})-(\\d\\d)-(\\d\\d) (\\d\\d:\\d\\d) \\[(\\w+)\\] (?<host>[a-z]+\\d*\\.[a-z.]+): (.*)");
    private static final Pattern ADDRESS = Pattern.compile("\\b(?:\\d{1,3}\\.){3}\\d{1,3}\\b");
    private static final Pattern MAIL = Pattern.compile("[\\w.+-]+@[\\w-]+\\.[a-z]{2,}", Pattern.CASE_INSENSITIVE);
    private static final Pattern TROUBLE = Pattern.compile("fail(ed|ure)|time(d )?out|refused|denied");
    private static final Pattern REPEATED = Pattern.compile("(\\w)\\1");
    private static final Pattern COMMA = Pattern.compile("\\s*,\\s*");

    public static void main(String[] args) {
        String[] log = log(600);
        Harness.run(args, size -> {
            long sum = 0;
            for (int i = Harness.scaled(22, size); i > 0; i--) {
                for (String line : log) {
                    sum = sum * 31 + read(line);
                }
            }
            return sum;
        });
    }

    private static String[] log(int lines) {
        String[] events = {
            "connection from 10.0.%d.17 refused, retry, later",
            "mail to user%d+news@Example.org sent , ok",
            "backup of disk %d failed: no space",
            "request %d served in 12 ms, cached",
            "login of eve denied from 192.168.%d.4",
        };
        Harness.Rng rng = new Harness.Rng(21);
        String[] log = new String[lines];
        for (int i = 0; i < lines; i++) {
            String event = events[rng.below(events.length)].replace("%d", Integer.toString(rng.below(250)));
            String level = rng.below(5) == 0 ? "WARN" : "INFO";
            String host = rng.below(9) == 0 ? "BAD HOST" : "node" + rng.below(40) + ".example.net";
            String date = "2024-0" + (1 + rng.below(9)) + "-1" + rng.below(10);
            String time = "0" + rng.below(10) + ":3" + rng.below(10);
            log[i] = date + " " + time + " [" + level + "] " + host + ": " + event;
        }
        return log;
    }

    private static int read(String line) {
        Matcher matcher = LINE.matcher(line);
        if (!matcher.matches()) {
            return line.length();
        }
        int sum = Integer.parseInt(matcher.group(2)) * 100 + Integer.parseInt(matcher.group(3));
        sum = sum * 31 + matcher.group("host").hashCode() + matcher.group(5).length();
        String event = matcher.group(7);
        Matcher address = ADDRESS.matcher(event);
        while (address.find()) {
            sum = sum * 31 + address.start() * 100 + address.end();
        }
        if (MAIL.matcher(event).find()) {
            sum += MAIL.matcher(event).replaceAll("<$0>").length();
        }
        if (TROUBLE.matcher(event).find()) {
            sum ^= 0x5555;
        }
        sum = sum * 31 + REPEATED.matcher(event).replaceAll("$1-").hashCode();
        for (String part : COMMA.split(event)) {
            sum = sum * 7 + part.length();
        }
        return sum;
    }
}
