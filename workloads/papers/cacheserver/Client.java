package cacheserver;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.util.Map;
import java.util.TreeMap;

/** A connection to the server; one request at a time. */
final class Client implements AutoCloseable {
    private static final int ANSWER_MILLIS_MAX = 300_000;
    private final Socket socket;
    private final InputStream in;
    private final OutputStream out;

    Client(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        socket.setSoTimeout(ANSWER_MILLIS_MAX);
        in = new BufferedInputStream(socket.getInputStream());
        out = new BufferedOutputStream(socket.getOutputStream());
    }

    /** {@code command} is set, add or replace. */
    boolean store(String command, String key, int flags, byte[] value) throws IOException {
        write(command + " " + key + " " + flags + " 0 " + value.length);
        out.write(value);
        write("");
        out.flush();
        return expect("STORED", "NOT_STORED").equals("STORED");
    }

    /** The value, or null; its flags must be these. */
    byte[] get(String key, int flags) throws IOException {
        send("get " + key);
        String line = readLine();
        if (line.equals("END")) {
            return null;
        }
        String start = "VALUE " + key + " " + flags + " ";
        if (!line.startsWith(start)) {
            throw new IOException("unexpected: " + line);
        }
        byte[] value = in.readNBytes(Integer.parseInt(line.substring(start.length())));
        readLine();
        expect("END", "END");
        return value;
    }

    boolean delete(String key) throws IOException {
        send("delete " + key);
        return expect("DELETED", "NOT_FOUND").equals("DELETED");
    }

    /** The sum, or null if there is no such item. */
    Long increment(String key, long delta) throws IOException {
        send("incr " + key + " " + delta);
        String line = readLine();
        return line.equals("NOT_FOUND") ? null : Long.valueOf(line);
    }

    Map<String, Long> stats() throws IOException {
        send("stats");
        Map<String, Long> stats = new TreeMap<>();
        for (String line = readLine(); !line.equals("END"); line = readLine()) {
            String[] words = line.split(" ");
            stats.put(words[1], Long.valueOf(words[2]));
        }
        return stats;
    }

    /** Any line, and the first line of the answer. */
    String ask(String line) throws IOException {
        send(line);
        return readLine();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }

    private void send(String line) throws IOException {
        write(line);
        out.flush();
    }

    private void write(String line) throws IOException {
        out.write((line + "\r\n").getBytes(Protocol.CHARSET));
    }

    private String expect(String one, String other) throws IOException {
        String line = readLine();
        if (!line.equals(one) && !line.equals(other)) {
            throw new IOException("unexpected: " + line);
        }
        return line;
    }

    private String readLine() throws IOException {
        StringBuilder line = new StringBuilder();
        for (int next = in.read(); ; next = in.read()) {
            if (next < 0) {
                throw new EOFException("the server has closed the connection");
            }
            if (next == '\n') {
                line.setLength(line.length() - 1);
                return line.toString();
            }
            line.append((char) next);
        }
    }
}
