package cacheserver;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Locale;
import java.util.concurrent.atomic.LongAdder;

/**
 * The text protocol of memcached, a subset: get, gets of several keys, set, add, replace, delete, incr, decr, stats,
 * flush_all, version. A request is a line; those that store are followed by as many bytes as the line says.
 */
final class Protocol {
    static final Charset CHARSET = StandardCharsets.ISO_8859_1;
    static final int LINE_MAX = 2048;
    static final int VALUE_MAX = 1 << 20;
    private static final int KEY_MAX = 250;

    private final Cache cache;
    private final LongAdder gets = new LongAdder();
    private final LongAdder hits = new LongAdder();
    private final LongAdder sets = new LongAdder();

    Protocol(Cache cache) {
        this.cache = cache;
    }

    /** How many bytes follow this line, without their end of line; -1 if none do, -2 if the line is not right. */
    int dataBytes(String[] words) {
        if (!words[0].equals("set") && !words[0].equals("add") && !words[0].equals("replace")) {
            return -1;
        }
        if (words.length != 5 || words[1].length() > KEY_MAX) {
            return -2;
        }
        try {
            Integer.parseInt(words[2]);
            Long.parseLong(words[3]);
            int bytes = Integer.parseInt(words[4]);
            return bytes >= 0 && bytes <= VALUE_MAX ? bytes : -2;
        } catch (NumberFormatException e) {
            return -2;
        }
    }

    /** Executes a request, whose data is null where none belongs to it. */
    void execute(String[] words, byte[] data, Reply reply) {
        switch (words[0]) {
            case "get", "gets" -> get(words, reply);
            case "set", "add", "replace" -> store(words, data, reply);
            case "delete" -> {
                if (words.length == 2) {
                    reply.line(cache.delete(words[1]) ? "DELETED" : "NOT_FOUND");
                } else {
                    reply.line("CLIENT_ERROR bad command line format");
                }
            }
            case "incr", "decr" -> add(words, reply);
            case "stats" -> {
                reply.line("STAT cmd_get " + gets.sum());
                reply.line("STAT get_hits " + hits.sum());
                reply.line("STAT cmd_set " + sets.sum());
                reply.line("STAT curr_items " + cache.items());
                reply.line("STAT bytes " + cache.bytes());
                reply.line("STAT evictions " + cache.evictions());
                reply.line("END");
            }
            case "flush_all" -> {
                cache.clear();
                reply.line("OK");
            }
            case "version" -> reply.line("VERSION 1");
            default -> reply.line("ERROR");
        }
    }

    private void get(String[] words, Reply reply) {
        for (int i = 1; i < words.length; i++) {
            gets.increment();
            Cache.Item item = cache.get(words[i]);
            if (item != null) {
                hits.increment();
                reply.line("VALUE " + item.key + " " + item.flags + " " + item.value.length);
                reply.data(item.value);
            }
        }
        reply.line("END");
    }

    private void store(String[] words, byte[] data, Reply reply) {
        sets.increment();
        Cache.Mode mode = Cache.Mode.valueOf(words[0].toUpperCase(Locale.ROOT));
        boolean stored = cache.store(new Cache.Item(words[1], data, Integer.parseInt(words[2])), mode);
        reply.line(stored ? "STORED" : "NOT_STORED");
    }

    private void add(String[] words, Reply reply) {
        try {
            long delta = words.length == 3 ? Long.parseLong(words[2]) : Long.parseLong("");
            Long sum = cache.add(words[1], words[0].equals("incr") ? delta : -delta);
            reply.line(sum == null ? "NOT_FOUND" : sum.toString());
        } catch (NumberFormatException e) {
            reply.line("CLIENT_ERROR cannot increment or decrement non-numeric value");
        }
    }
}
