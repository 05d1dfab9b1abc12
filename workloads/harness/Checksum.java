package harness;

/** A running checksum of results in their order: FNV-1a over 64 bits. */
public final class Checksum {
    private long state = 0xCBF29CE484222325L;

    public Checksum add(long value) {
        for (int shift = 0; shift < 64; shift += 8) {
            state = (state ^ (value >>> shift & 0xFF)) * 0x100000001B3L;
        }
        return this;
    }

    public Checksum add(double value) {
        return add(Double.doubleToLongBits(value));
    }

    public Checksum add(CharSequence text) {
        for (int i = 0; i < text.length(); i++) {
            state = (state ^ text.charAt(i)) * 0x100000001B3L;
        }
        return add(text.length());
    }

    public Checksum add(byte[] bytes) {
        for (byte b : bytes) {
            state = (state ^ (b & 0xFF)) * 0x100000001B3L;
        }
        return add(bytes.length);
    }

    @Override
    public String toString() {
        return String.format("%016x", state);
    }
}
