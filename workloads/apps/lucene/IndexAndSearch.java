import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.lucene.analysis.standard.StandardAnalyzer;
import org.apache.lucene.document.Document;
import org.apache.lucene.document.Field;
import org.apache.lucene.document.IntPoint;
import org.apache.lucene.document.NumericDocValuesField;
import org.apache.lucene.document.StoredField;
import org.apache.lucene.document.StringField;
import org.apache.lucene.document.TextField;
import org.apache.lucene.index.DirectoryReader;
import org.apache.lucene.index.IndexWriter;
import org.apache.lucene.index.IndexWriterConfig;
import org.apache.lucene.index.SerialMergeScheduler;
import org.apache.lucene.index.Term;
import org.apache.lucene.search.BooleanClause;
import org.apache.lucene.search.BooleanQuery;
import org.apache.lucene.search.FuzzyQuery;
import org.apache.lucene.search.IndexSearcher;
import org.apache.lucene.search.PhraseQuery;
import org.apache.lucene.search.PrefixQuery;
import org.apache.lucene.search.Query;
import org.apache.lucene.search.ScoreDoc;
import org.apache.lucene.search.Sort;
import org.apache.lucene.search.SortField;
import org.apache.lucene.search.TermQuery;
import org.apache.lucene.search.TopDocs;
import org.apache.lucene.store.ByteBuffersDirectory;
import org.apache.lucene.store.Directory;

/**
 * Indexes generated documents with Lucene into a directory in memory, updates and deletes some of them, and answers
 * queries of seven kinds on several threads.
 *
 * <p>Arguments: documents, queries of each thread, threads. Words are skewed as in language; merges run where they are
 * asked for, so the index, and with it every score, is the same each time.
 */
public class IndexAndSearch {
    private static final int VOCABULARY = 20_000;

    private final String[] words = new String[VOCABULARY];
    private final int documents;

    IndexAndSearch(int documents) {
        this.documents = documents;
        Rng rng = new Rng(7);
        for (int i = 0; i < words.length; i++) {
            words[i] = rng.letters(rng.between(2, 10)) + Integer.toString(i, 36);
        }
    }

    public static void main(String[] args) throws Exception {
        int documents = args.length > 0 ? Integer.parseInt(args[0]) : 5000;
        int queries = args.length > 1 ? Integer.parseInt(args[1]) : 500;
        int threads = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        IndexAndSearch program = new IndexAndSearch(documents);
        try (Directory directory = new ByteBuffersDirectory()) {
            program.index(directory);
            program.search(directory, queries, threads);
        }
    }

    private void index(Directory directory) throws IOException {
        IndexWriterConfig config = new IndexWriterConfig(new StandardAnalyzer());
        config.setMergeScheduler(new SerialMergeScheduler()).setRAMBufferSizeMB(8);
        Rng rng = new Rng(11);
        long start = System.nanoTime();
        try (IndexWriter writer = new IndexWriter(directory, config)) {
            for (int i = 0; i < documents; i++) {
                writer.addDocument(document(rng, i));
                if (i % 50 == 49) {
                    int again = rng.below(i);
                    writer.updateDocument(new Term("id", "d" + again), document(rng, again));
                }
                if (i % 200 == 199) {
                    writer.deleteDocuments(new Term("id", "d" + rng.below(i)));
                }
            }
            writer.commit();
            Figures.result("documents", writer.getDocStats().numDocs + " of " + writer.getDocStats().maxDoc);
            long before = System.nanoTime();
            writer.forceMerge(4);
            Figures.metric("merge_s", Figures.seconds(before));
        }
        Figures.metric("index_s", Figures.seconds(start));
        // Not their sizes: each segment says which VM wrote it.
        Figures.result("files", directory.listAll().length);
    }

    private Document document(Rng rng, int id) {
        Document document = new Document();
        document.add(new StringField("id", "d" + id, Field.Store.YES));
        document.add(new TextField("title", text(rng, 6), Field.Store.YES));
        document.add(new TextField("body", text(rng, rng.between(40, 200)), Field.Store.NO));
        int year = rng.between(1900, 2020);
        document.add(new IntPoint("year", year));
        document.add(new NumericDocValuesField("year", year));
        document.add(new StoredField("year", year));
        return document;
    }

    private String text(Rng rng, int count) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < count; i++) {
            text.append(word(rng)).append(i % 12 == 11 ? ". " : " ");
        }
        return text.toString();
    }

    private String word(Rng rng) {
        return words[rng.skewed(1 + rng.skewed(VOCABULARY))];
    }

    private void search(Directory directory, int queries, int threads) throws Exception {
        try (DirectoryReader reader = DirectoryReader.open(directory)) {
            IndexSearcher searcher = new IndexSearcher(reader);
            List<Reader> readers = new ArrayList<>();
            long start = System.nanoTime();
            for (int i = 0; i < threads; i++) {
                Reader thread = new Reader(searcher, i, queries);
                readers.add(thread);
                thread.start();
            }
            long[] nanos = new long[threads * queries];
            for (Reader thread : readers) {
                thread.join();
                if (thread.failure != null) {
                    throw thread.failure;
                }
                System.arraycopy(thread.nanos, 0, nanos, thread.number * queries, queries);
                Figures.result("reader " + thread.number, thread.hits + " hits " + thread.checksum);
            }
            double seconds = Figures.seconds(start);
            Figures.metric("search_s", seconds);
            Figures.metric("operations_per_s", nanos.length / seconds);
            Figures.latencies("query", nanos);
        }
    }

    /** A thread that asks. */
    private final class Reader extends Thread {
        final int number;
        final long[] nanos;
        final Checksum checksum = new Checksum();
        long hits;
        Exception failure;
        private final IndexSearcher searcher;
        private final Rng rng;

        Reader(IndexSearcher searcher, int number, int queries) {
            this.searcher = searcher;
            this.number = number;
            nanos = new long[queries];
            rng = new Rng(100 + number);
        }

        @Override
        public void run() {
            try {
                for (int i = 0; i < nanos.length; i++) {
                    long start = System.nanoTime();
                    ask(i);
                    nanos[i] = System.nanoTime() - start;
                }
            } catch (Exception exception) {
                failure = exception;
            }
        }

        private void ask(int i) throws IOException {
            Query query = query(i % 7);
            TopDocs top = i % 3 == 0
                ? searcher.search(query, 10, new Sort(new SortField("year", SortField.Type.INT), SortField.FIELD_DOC))
                : searcher.search(query, 10);
            hits += top.totalHits.value;
            for (ScoreDoc hit : top.scoreDocs) {
                Document document = searcher.doc(hit.doc);
                checksum.add(document.get("id")).add(document.get("title")).add(hit.score);
            }
        }

        private Query query(int kind) {
            switch (kind) {
                case 0:
                    return new TermQuery(new Term("body", word(rng)));
                case 1:
                    return both(BooleanClause.Occur.MUST);
                case 2:
                    return both(BooleanClause.Occur.SHOULD);
                case 3:
                    return new PhraseQuery(2, "body", words[rng.below(40)], words[rng.below(40)]);
                case 4:
                    return new PrefixQuery(new Term("title", word(rng).substring(0, 2)));
                case 5:
                    int year = rng.between(1900, 2000);
                    return IntPoint.newRangeQuery("year", year, year + 5);
                default:
                    return new FuzzyQuery(new Term("title", word(rng)), 1);
            }
        }

        private Query both(BooleanClause.Occur occur) {
            BooleanQuery.Builder builder = new BooleanQuery.Builder();
            builder.add(new TermQuery(new Term("body", word(rng))), occur);
            builder.add(new TermQuery(new Term("body", word(rng))), occur);
            builder.add(new TermQuery(new Term("title", word(rng))), BooleanClause.Occur.SHOULD);
            return builder.build();
        }
    }
}
