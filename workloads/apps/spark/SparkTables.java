import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Tables on Apache Spark SQL in local mode: generated sales and products in memory, queries with joins, groups, windows,
 * functions of ours, and files in Parquet and JSON. Spark compiles each query to classes while it runs.
 *
 * <p>Arguments: sales, products, partitions, threads, rounds.
 */
public class SparkTables {
    private static final String[] QUERIES = {
        "SELECT kind, COUNT(*) AS n, SUM(amount) AS total, MIN(day), MAX(day), AVG(amount) FROM sales"
            + " JOIN products USING (product) GROUP BY kind ORDER BY kind",
        "SELECT product, total FROM (SELECT product, SUM(amount) AS total, RANK() OVER (ORDER BY SUM(amount) DESC, product)"
            + " AS place FROM sales GROUP BY product) WHERE place <= 10 ORDER BY total DESC, product",
        "SELECT customer, COUNT(DISTINCT product) AS n FROM sales WHERE note LIKE 'a%' OR amount > 90000"
            + " GROUP BY customer HAVING COUNT(*) > 2 ORDER BY n DESC, customer LIMIT 20",
        "SELECT shout(SUBSTRING(name, 1, 3)) AS prefix, SUM(CAST(price AS DECIMAL(12,2)) * 3) AS total FROM products"
            + " LEFT ANTI JOIN (SELECT product FROM sales WHERE day < 30) AS early USING (product)"
            + " GROUP BY prefix ORDER BY prefix",
        "SELECT day DIV 30 AS month, customer % 7 AS segment, SUM(amount) AS total FROM sales"
            + " GROUP BY ROLLUP (day DIV 30, customer % 7) ORDER BY month NULLS LAST, segment NULLS LAST",
        "WITH daily AS (SELECT day, SUM(amount) AS total FROM sales GROUP BY day) SELECT day, total,"
            + " SUM(total) OVER (ORDER BY day ROWS BETWEEN 6 PRECEDING AND CURRENT ROW) AS week FROM daily"
            + " ORDER BY day LIMIT 40",
        "SELECT CASE WHEN amount < 1000 THEN 'low' WHEN note IS NULL THEN 'none' ELSE UPPER(note) END AS label,"
            + " DATE_ADD(DATE '2020-01-01', day) AS date, COUNT(*) AS n FROM sales GROUP BY label, date"
            + " ORDER BY n DESC, label, date LIMIT 25",
    };

    public static void main(String[] args) {
        int sales = args.length > 0 ? Integer.parseInt(args[0]) : 2000;
        int products = args.length > 1 ? Integer.parseInt(args[1]) : 100;
        int partitions = args.length > 2 ? Integer.parseInt(args[2]) : 2;
        int threads = args.length > 3 ? Integer.parseInt(args[3]) : 2;
        int rounds = args.length > 4 ? Integer.parseInt(args[4]) : 1;
        long start = System.nanoTime();
        SparkSession spark = SparkSession.builder()
            .config(LocalSpark.configuration("Tables", threads).set("spark.sql.shuffle.partitions", "" + partitions))
            .getOrCreate();
        Figures.metric("start_s", Figures.seconds(start));
        try {
            generate(spark, sales, products, partitions);
            start = System.nanoTime();
            for (int round = 0; round < rounds; round++) {
                for (int i = 0; i < QUERIES.length; i++) {
                    long before = System.nanoTime();
                    String result = summary(spark.sql(QUERIES[i]));
                    Figures.metric("query" + i + "_s", Figures.seconds(before));
                    if (round == 0) {
                        Figures.result("query " + i, result);
                    }
                }
            }
            Figures.metric("queries_s", Figures.seconds(start));
            files(spark);
        } finally {
            spark.stop();
        }
    }

    private static void generate(SparkSession spark, int sales, int products, int partitions) {
        List<Integer> parts = new ArrayList<>();
        for (int i = 0; i < partitions; i++) {
            parts.add(i);
        }
        JavaSparkContext context = new JavaSparkContext(spark.sparkContext());
        JavaRDD<Row> rows = context.parallelize(parts, partitions)
            .flatMap(part -> sold(part, sales / partitions, products));
        StructType type = new StructType().add("customer", DataTypes.IntegerType).add("product", DataTypes.IntegerType)
            .add("day", DataTypes.IntegerType).add("amount", DataTypes.LongType).add("note", DataTypes.StringType);
        Dataset<Row> table = spark.createDataFrame(rows, type).cache();
        table.createOrReplaceTempView("sales");
        List<Row> goods = new ArrayList<>();
        Rng rng = new Rng(2);
        for (int i = 0; i < products; i++) {
            goods.add(RowFactory.create(i, rng.letters(8), "kind" + rng.below(6), rng.below(100000) / 100.0));
        }
        StructType goodsType = new StructType().add("product", DataTypes.IntegerType).add("name", DataTypes.StringType)
            .add("kind", DataTypes.StringType).add("price", DataTypes.DoubleType);
        spark.createDataFrame(goods, goodsType).createOrReplaceTempView("products");
        spark.udf().register("shout", (UDF1<String, String>) text -> text.toUpperCase() + "!", DataTypes.StringType);
        Figures.result("rows", table.count());
    }

    private static Iterator<Row> sold(int part, int count, int products) {
        Rng rng = new Rng(part);
        List<Row> rows = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            String note = rng.below(4) == 0 ? null : rng.letters(3);
            rows.add(RowFactory.create(rng.skewed(500), rng.skewed(products), rng.below(365), (long) rng.below(100000), note));
        }
        return rows.iterator();
    }

    /** Through a file in each format and back. */
    private static void files(SparkSession spark) {
        String folder = System.getProperty("user.dir") + "/tables";
        long start = System.nanoTime();
        Dataset<Row> sales = spark.table("sales");
        sales.coalesce(1).write().parquet(folder + "/parquet");
        sales.limit(500).coalesce(1).write().json(folder + "/json");
        Dataset<Row> back = spark.read().parquet(folder + "/parquet");
        Figures.result("parquet", summary(back.groupBy("product").sum("amount").orderBy("product")));
        Figures.result("json", summary(spark.read().json(folder + "/json").groupBy("note").count().orderBy("note").limit(9)));
        Figures.metric("files_s", Figures.seconds(start));
    }

    private static String summary(Dataset<Row> rows) {
        Checksum checksum = new Checksum();
        List<Row> all = rows.collectAsList();
        for (Row row : all) {
            checksum.add(row.toString());
        }
        return all.size() + " rows " + checksum + (all.isEmpty() ? "" : ", the first " + all.get(0));
    }
}
