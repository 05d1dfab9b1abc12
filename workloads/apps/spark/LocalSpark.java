import org.apache.spark.SparkConf;

/** How the programs run Spark: in this process, without its web pages, its files in the current folder. */
final class LocalSpark {
    private LocalSpark() {}

    static SparkConf configuration(String name, int threads) {
        return new SparkConf().setAppName(name).setMaster("local[" + threads + "]")
            .set("spark.driver.host", "127.0.0.1").set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.ui.enabled", "false").set("spark.local.dir", System.getProperty("user.dir"))
            .set("spark.sql.warehouse.dir", System.getProperty("user.dir") + "/warehouse");
    }
}
