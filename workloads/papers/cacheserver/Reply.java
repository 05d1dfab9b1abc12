package cacheserver;

import java.io.ByteArrayOutputStream;

/** Bytes that are sent to a client. */
final class Reply {
    private static final byte[] END_OF_LINE = {'\r', '\n'};
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);

    void line(String text) {
        data(text.getBytes(Protocol.CHARSET));
    }

    void data(byte[] data) {
        bytes.writeBytes(data);
        bytes.writeBytes(END_OF_LINE);
    }

    int size() {
        return bytes.size();
    }

    /** All of it; empty afterwards. */
    byte[] take() {
        byte[] all = bytes.toByteArray();
        bytes.reset();
        return all;
    }
}
