package studies;

import harness.Figures;
import harness.Numbers;
import harness.Rng;
import java.lang.ref.Cleaner;
import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Caches that live by references: documents behind soft references, names interned through weak ones, resources that
 * phantom references give back, a weak hash map, and a cleaner. Which are cleared, and when, is no result; that no
 * reachable one is cleared is one, and that all dropped ones come to their queues once at the end.
 *
 * <p>Arguments: documents, KiB of one, lookups, one of how many is dropped for good.
 */
public final class References {
    private static final long WAIT_NANOS_MAX = 120_000_000_000L;

    private static final class Document {
        final int number;
        final byte[] text;

        Document(int number, int bytes) {
            this.number = number;
            text = new byte[bytes];
            text[0] = (byte) number;
            text[bytes - 1] = (byte) (number >> 8);
        }

        boolean isRight(int expected) {
            return number == expected && text[0] == (byte) number && text[text.length - 1] == (byte) (number >> 8);
        }
    }

    private static final class CachedDocument extends SoftReference<Document> {
        final int number;

        CachedDocument(Document document, ReferenceQueue<Document> queue) {
            super(document, queue);
            number = document.number;
        }
    }

    private static final class Name extends WeakReference<String> {
        private final int hash;

        Name(String name, ReferenceQueue<String> queue) {
            super(name, queue);
            hash = name.hashCode();
        }

        @Override
        public int hashCode() {
            return hash;
        }

        @Override
        public boolean equals(Object other) {
            String name = get();
            return this == other || other instanceof Name that && name != null && name.equals(that.get());
        }
    }

    private static final class Resource extends PhantomReference<Object> {
        final int number;

        Resource(Object user, int number, ReferenceQueue<Object> queue) {
            super(user, queue);
            this.number = number;
        }
    }

    private final Rng rng = new Rng(1400);
    private final int documents;
    private final int bytes;
    private final Map<Integer, CachedDocument> cache = new HashMap<>();
    private final ReferenceQueue<Document> forgotten = new ReferenceQueue<>();
    private final Map<Name, Name> names = new HashMap<>();
    private final ReferenceQueue<String> unnamed = new ReferenceQueue<>();
    private final Set<Resource> resources = new HashSet<>();
    private final ReferenceQueue<Object> released = new ReferenceQueue<>();
    private final Map<Object, Integer> notes = new WeakHashMap<>();
    private final Cleaner cleaner = Cleaner.create();
    private final AtomicLong cleaned = new AtomicLong();
    /** The current users of resources, who hold names and notes. */
    private final Deque<Object[]> users = new ArrayDeque<>();
    private int made;
    private int misses;
    private int enqueued;
    private long releasedSum;
    private int releasedCount;

    private References(int documents, int bytes) {
        this.documents = documents;
        this.bytes = bytes;
    }

    public static void main(String[] args) throws Exception {
        int[] n = Numbers.of(args, "documents kilobytes lookups one-of", 1500, 8, 40_000, 4);
        Figures.require(n[0] > 0 && n[1] > 0 && n[3] > 0, "numbers are above zero");
        References references = new References(n[0], n[1] << 10);
        long start = System.nanoTime();
        long sum = references.use(n[2], n[3]);
        double seconds = Figures.seconds(start);
        Figures.metric("run_s", seconds);
        Figures.metric("operations_per_s", n[2] / seconds);
        Figures.peak();
        Figures.metric("misses", references.misses);
        Figures.metric("soft_enqueued", references.enqueued);
        Figures.metric("released_early", references.releasedCount);
        Figures.result("sum", Long.toHexString(sum));
        start = System.nanoTime();
        references.drain();
        Figures.metric("drain_s", Figures.seconds(start));
    }

    private long use(int lookups, int oneOf) {
        long sum = 0;
        for (int i = 0; i < lookups; i++) {
            int number = rng.skewed(documents);
            Document document = document(number);
            if (!document.isRight(number)) {
                Figures.wrong("document " + number + " is another one");
            }
            sum = sum * 31 + document.text[0];
            if (rng.below(oneOf) == 0) {
                user();
            }
            poll();
        }
        return sum;
    }

    private Document document(int number) {
        CachedDocument cached = cache.get(number);
        Document document = cached == null ? null : cached.get();
        if (document == null) {
            misses++;
            document = new Document(number, bytes);
            cache.put(number, new CachedDocument(document, forgotten));
        }
        return document;
    }

    /** A new user with a resource, a name and a note; the oldest user leaves when there are many. */
    private void user() {
        Object user = new Object();
        resources.add(new Resource(user, made, released));
        String text = "name-" + rng.below(5000);
        Name wanted = new Name(text, null);
        Name known = names.get(wanted);
        String name = known == null ? null : known.get();
        if (name == null) {
            // The string itself: no other object refers to it.
            name = text;
            Name entry = new Name(name, unnamed);
            names.remove(wanted);
            names.put(entry, entry);
        }
        Figures.require(name.equals(text), "a name is another one");
        notes.put(user, made);
        Object tidy = new Object();
        AtomicLong counter = cleaned;
        cleaner.register(tidy, counter::incrementAndGet);
        users.addLast(new Object[] {user, name, tidy});
        made++;
        if (users.size() > 2000) {
            Object[] oldest = users.removeFirst();
            Figures.require(notes.get(oldest[0]) == made - 2001, "a note of somebody who is there is gone");
        }
    }

    private void poll() {
        for (Reference<?> r = forgotten.poll(); r != null; r = forgotten.poll()) {
            CachedDocument cached = (CachedDocument) r;
            Figures.require(cached.get() == null, "an enqueued reference still has its document");
            cache.remove(cached.number, cached);
            enqueued++;
        }
        for (Reference<?> r = unnamed.poll(); r != null; r = unnamed.poll()) {
            names.remove(r);
        }
        for (Reference<?> r = released.poll(); r != null; r = released.poll()) {
            Resource resource = (Resource) r;
            if (!resources.remove(resource)) {
                Figures.wrong("resource " + resource.number + " came twice");
            }
            if (made - resource.number <= users.size()) {
                Figures.wrong("resource " + resource.number + " is in use");
            }
            releasedSum += resource.number;
            releasedCount++;
        }
    }

    /** All users leave; then all resources must come back, each once. */
    private void drain() throws InterruptedException {
        users.clear();
        long end = System.nanoTime() + WAIT_NANOS_MAX;
        while (releasedCount < made || cleaned.get() < made || !notes.isEmpty() || !names.isEmpty()) {
            Figures.require(System.nanoTime() < end, made + " resources, but " + releasedCount + " came back, "
                + cleaned.get() + " were cleaned, " + notes.size() + " notes and " + names.size() + " names stay");
            System.gc();
            Thread.sleep(10);
            poll();
        }
        Figures.result("resources", made + " " + releasedSum);
        Figures.result("cleaned", cleaned.get());
        // Soft references may stay, but must be right.
        List<Integer> kept = new ArrayList<>(cache.keySet());
        for (Integer number : kept) {
            Document document = cache.get(number).get();
            if (document != null && !document.isRight(number)) {
                Figures.wrong("document " + number + " is another one");
            }
        }
        Reference.reachabilityFence(cleaner);
    }
}
