import com.sun.net.httpserver.HttpServer;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URL;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;

public class HttpLoopback {
    public static void main(String[] args) throws Exception {
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/echo", exchange -> {
            byte[] body = exchange.getRequestBody().readAllBytes();
            byte[] reply = (exchange.getRequestMethod() + " " + exchange.getRequestURI().getQuery() + " " + new String(body)).getBytes();
            exchange.getResponseHeaders().add("X-Header", "value");
            exchange.sendResponseHeaders(200, reply.length);
            exchange.getResponseBody().write(reply);
            exchange.close();
        });
        server.start();
        String base = "http://127.0.0.1:" + server.getAddress().getPort();
        HttpURLConnection old = (HttpURLConnection) new URL(base + "/echo?a=1").openConnection();
        System.out.println(old.getResponseCode() + " " + new String(old.getInputStream().readAllBytes()) + " " + old.getHeaderField("X-Header"));
        HttpURLConnection missing = (HttpURLConnection) new URL(base + "/none").openConnection();
        System.out.println(missing.getResponseCode());
        HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
        HttpResponse<String> r = client.send(HttpRequest.newBuilder(URI.create(base + "/echo?b=2"))
            .POST(HttpRequest.BodyPublishers.ofString("posted")).build(), HttpResponse.BodyHandlers.ofString());
        System.out.println(r.statusCode() + " " + r.body() + " " + r.headers().firstValue("x-header").orElse("none"));
        System.out.println(client.sendAsync(HttpRequest.newBuilder(URI.create(base + "/echo")).build(), HttpResponse.BodyHandlers.ofString())
            .thenApply(HttpResponse::body).get());
        server.stop(0);
        URI u = URI.create("http://user@host:8080/a/b/../c?q=1#frag");
        System.out.println(u.getHost() + " " + u.getPort() + " " + u.normalize() + " " + u.resolve("d") + " " + u.getFragment() + " "
            + java.net.URLEncoder.encode("a b&c=\u00e9", "UTF-8") + " " + java.net.URLDecoder.decode("a+b%26", "UTF-8"));
        System.exit(0);
    }
}
