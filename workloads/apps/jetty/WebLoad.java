import harness.Checksum;
import harness.Figures;
import harness.Rng;
import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.locks.LockSupport;
import java.util.zip.GZIPInputStream;
import javax.servlet.AsyncContext;
import javax.servlet.http.HttpServlet;
import javax.servlet.http.HttpServletRequest;
import javax.servlet.http.HttpServletResponse;
import javax.servlet.http.HttpSession;
import org.eclipse.jetty.server.Server;
import org.eclipse.jetty.server.ServerConnector;
import org.eclipse.jetty.server.handler.gzip.GzipHandler;
import org.eclipse.jetty.server.session.SessionHandler;
import org.eclipse.jetty.servlet.ServletContextHandler;
import org.eclipse.jetty.servlet.ServletHolder;
import org.eclipse.jetty.util.thread.QueuedThreadPool;

/**
 * A web shop's pages on Jetty over loopback, and its customers: an open-loop generator with connections that stay. Each
 * customer has a session, puts documents into a store, reads them back, asks for compressed listings and for answers
 * that come later from another thread.
 *
 * <p>Arguments: customers, requests of each, documents of each, requests a second of each (0: as fast as answers come).
 * Latencies are measured against the moment at which a request was meant to start.
 */
public class WebLoad {
    private final Map<String, ConcurrentSkipListMap<Integer, byte[]>> store = new ConcurrentHashMap<>();

    public static void main(String[] args) throws Exception {
        int[] n = {4, 200, 50, 0};
        for (int i = 0; i < args.length; i++) {
            n[i] = Integer.parseInt(args[i]);
        }
        new WebLoad().run(n[0], n[1], n[2], n[3]);
    }

    private void run(int customers, int requests, int documents, int rate) throws Exception {
        QueuedThreadPool pool = new QueuedThreadPool(16, 4);
        Server server = new Server(pool);
        ServerConnector connector = new ServerConnector(server, 1, 1);
        connector.setHost("127.0.0.1");
        server.addConnector(connector);
        ServletContextHandler context = new ServletContextHandler();
        context.setSessionHandler(new SessionHandler());
        // Named, because error pages name them; the names that they get otherwise hold identity hashes.
        context.addServlet(new ServletHolder("documents", new Documents()), "/document/*");
        context.addServlet(new ServletHolder("listing", new Listing()), "/listing");
        ServletHolder later = new ServletHolder("later", new Later());
        later.setAsyncSupported(true);
        context.addServlet(later, "/later");
        GzipHandler gzip = new GzipHandler();
        gzip.setMinGzipSize(256);
        gzip.setHandler(context);
        server.setHandler(gzip);
        long start = System.nanoTime();
        server.start();
        Figures.metric("start_s", Figures.seconds(start));
        try {
            load(connector.getLocalPort(), customers, requests, documents, rate);
        } finally {
            server.stop();
        }
        long bytes = 0;
        long kept = 0;
        for (ConcurrentSkipListMap<Integer, byte[]> own : store.values()) {
            kept += own.size();
            for (byte[] document : own.values()) {
                bytes += document.length;
            }
        }
        Figures.result("kept", kept + " documents with " + bytes + " bytes of " + store.size());
    }

    private static void load(int port, int customers, int requests, int documents, int rate) throws Exception {
        List<Customer> all = new ArrayList<>();
        long start = System.nanoTime();
        for (int i = 0; i < customers; i++) {
            Customer customer = new Customer(port, i, requests, documents, rate);
            all.add(customer);
            customer.start();
        }
        long[] nanos = new long[customers * requests];
        for (Customer customer : all) {
            customer.join();
            if (customer.failure != null) {
                throw customer.failure;
            }
            System.arraycopy(customer.nanos, 0, nanos, customer.number * requests, requests);
            Figures.result("customer " + customer.number, customer.checksum);
        }
        double seconds = Figures.seconds(start);
        Figures.metric("run_s", seconds);
        Figures.metric("operations_per_s", nanos.length / seconds);
        Figures.latencies("request", nanos);
    }

    /** The documents of the customer whose session it is. */
    private ConcurrentSkipListMap<Integer, byte[]> own(HttpServletRequest request) {
        HttpSession session = request.getSession(true);
        if (session.isNew()) {
            session.setAttribute("name", request.getParameter("name"));
        }
        String name = String.valueOf(session.getAttribute("name"));
        Integer visits = (Integer) session.getAttribute("visits");
        session.setAttribute("visits", visits == null ? 1 : visits + 1);
        return store.computeIfAbsent(name, key -> new ConcurrentSkipListMap<>());
    }

    private final class Documents extends HttpServlet {
        @Override
        protected void doPut(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] body = request.getInputStream().readAllBytes();
            byte[] old = own(request).put(number(request), body);
            response.setStatus(old == null ? HttpServletResponse.SC_CREATED : HttpServletResponse.SC_OK);
            response.getOutputStream().print(body.length);
        }

        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            byte[] document = own(request).get(number(request));
            if (document == null) {
                response.sendError(HttpServletResponse.SC_NOT_FOUND);
                return;
            }
            response.setContentType("application/octet-stream");
            response.getOutputStream().write(document);
        }

        @Override
        protected void doDelete(HttpServletRequest request, HttpServletResponse response) {
            boolean was = own(request).remove(number(request)) != null;
            response.setStatus(was ? HttpServletResponse.SC_NO_CONTENT : HttpServletResponse.SC_GONE);
        }

        private int number(HttpServletRequest request) {
            return Integer.parseInt(request.getPathInfo().substring(1));
        }
    }

    private final class Listing extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) throws IOException {
            ConcurrentSkipListMap<Integer, byte[]> own = own(request);
            response.setContentType("text/html;charset=utf-8");
            PrintWriter out = response.getWriter();
            out.println("<html><body><h1>" + request.getSession().getAttribute("visits") + "</h1><table>");
            own.forEach((number, document) ->
                out.println("<tr><td>" + number + "</td><td>" + document.length + " \u00fc</td></tr>"));
            out.println("</table></body></html>");
        }
    }

    private final class Later extends HttpServlet {
        @Override
        protected void doGet(HttpServletRequest request, HttpServletResponse response) {
            int size = own(request).size();
            AsyncContext context = request.startAsync();
            context.start(() -> {
                try {
                    context.getResponse().getOutputStream().print("size " + size);
                } catch (IOException exception) {
                    getServletContext().log("cannot answer", exception);
                }
                context.complete();
            });
        }
    }

    /** A customer with a connection of its own. */
    private static final class Customer extends Thread {
        final int number;
        final long[] nanos;
        final Checksum checksum = new Checksum();
        Exception failure;
        private final int port;
        private final int documents;
        private final int rate;
        private final Rng rng;
        private String cookie;
        private InputStream in;
        private OutputStream out;

        Customer(int port, int number, int requests, int documents, int rate) {
            this.port = port;
            this.number = number;
            this.documents = documents;
            this.rate = rate;
            nanos = new long[requests];
            rng = new Rng(300 + number);
        }

        @Override
        public void run() {
            try (Socket socket = new Socket(InetAddress.getByName("127.0.0.1"), port)) {
                socket.setTcpNoDelay(true);
                socket.setSoTimeout(120_000);
                in = new BufferedInputStream(socket.getInputStream());
                out = new BufferedOutputStream(socket.getOutputStream());
                long begin = System.nanoTime();
                for (int i = 0; i < nanos.length; i++) {
                    long start = System.nanoTime();
                    if (rate > 0) {
                        start = begin + i * 1_000_000_000L / rate;
                        for (long left; (left = start - System.nanoTime()) > 0;) {
                            LockSupport.parkNanos(left);
                        }
                    }
                    request(i);
                    nanos[i] = System.nanoTime() - start;
                }
            } catch (Exception exception) {
                failure = exception;
            }
        }

        private void request(int i) throws IOException {
            String document = "/document/" + rng.skewed(documents);
            switch (i == 0 ? 9 : rng.below(10)) {
                case 0:
                case 1:
                case 2:
                    send("PUT", document, rng.letters(rng.between(10, 3000)).getBytes(StandardCharsets.US_ASCII));
                    break;
                case 3:
                    send("DELETE", document, null);
                    break;
                case 4:
                    send("GET", "/listing", null);
                    break;
                case 5:
                    send("GET", "/later", null);
                    break;
                case 9:
                    send("GET", "/listing?name=customer" + number, null);
                    break;
                default:
                    send("GET", document, null);
                    break;
            }
            receive();
        }

        private void send(String method, String path, byte[] body) throws IOException {
            StringBuilder head = new StringBuilder(method + " " + path + " HTTP/1.1\r\nHost: localhost\r\n");
            head.append("Accept-Encoding: gzip\r\n").append(cookie == null ? "" : "Cookie: " + cookie + "\r\n");
            head.append(body == null ? "" : "Content-Length: " + body.length + "\r\n").append("\r\n");
            out.write(head.toString().getBytes(StandardCharsets.US_ASCII));
            if (body != null) {
                out.write(body);
            }
            out.flush();
        }

        private void receive() throws IOException {
            String status = line();
            int length = 0;
            boolean chunked = false;
            boolean zipped = false;
            for (String header = line(); !header.isEmpty(); header = line()) {
                int colon = header.indexOf(':');
                String value = header.substring(colon + 1).trim();
                switch (header.substring(0, colon).toLowerCase()) {
                    case "content-length":
                        length = Integer.parseInt(value);
                        break;
                    case "transfer-encoding":
                        chunked = value.equals("chunked");
                        break;
                    case "content-encoding":
                        zipped = value.equals("gzip");
                        break;
                    case "set-cookie":
                        cookie = value.split(";")[0];
                        break;
                    default:
                        break;
                }
            }
            checksum.add(status.split(" ")[1]);
            ByteArrayOutputStream body = new ByteArrayOutputStream();
            if (chunked) {
                for (int size = chunk(); size > 0; size = chunk()) {
                    body.write(exactly(size));
                    line();
                }
                line();
            } else if (!status.contains(" 204 ")) {
                body.write(exactly(length));
            }
            byte[] bytes = body.toByteArray();
            if (zipped) {
                bytes = new GZIPInputStream(new java.io.ByteArrayInputStream(bytes)).readAllBytes();
            }
            checksum.add(bytes);
        }

        private int chunk() throws IOException {
            return Integer.parseInt(line(), 16);
        }

        private byte[] exactly(int count) throws IOException {
            byte[] bytes = in.readNBytes(count);
            if (bytes.length < count) {
                throw new EOFException("the server closed the connection");
            }
            return bytes;
        }

        private String line() throws IOException {
            StringBuilder line = new StringBuilder();
            for (int c = in.read(); c != '\n'; c = in.read()) {
                if (c < 0) {
                    throw new EOFException("the server closed the connection");
                }
                line.append((char) c);
            }
            line.setLength(Math.max(0, line.length() - 1));
            return line.toString();
        }
    }
}
