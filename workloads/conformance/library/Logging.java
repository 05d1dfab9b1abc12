// compare: stdout,stderr
import java.util.logging.ConsoleHandler;
import java.util.logging.Formatter;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

public class Logging {
    public static void main(String[] args) {
        Logger logger = Logger.getLogger("far.test");
        logger.setUseParentHandlers(false);
        Handler handler = new ConsoleHandler();
        handler.setLevel(Level.ALL);
        handler.setFormatter(new Formatter() {
            @Override
            public String format(LogRecord r) {
                return r.getLevel() + " " + r.getLoggerName() + " " + r.getSourceMethodName() + " " + formatMessage(r) + "\n";
            }
        });
        logger.addHandler(handler);
        logger.setLevel(Level.FINE);
        logger.info("information");
        logger.log(Level.WARNING, "parameters {0} and {1}", new Object[] {1, "two"});
        logger.finer("not shown");
        logger.fine(() -> "lazy");
        logger.log(Level.SEVERE, "thrown", new RuntimeException("x"));
        System.out.println(logger.isLoggable(Level.FINEST) + " " + logger.getParent().getName().isEmpty() + " " + Level.parse("INFO").intValue());
        System.Logger system = System.getLogger("far.system");
        System.out.println(system.getName() + " " + system.isLoggable(System.Logger.Level.INFO));
    }
}
