package columns;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Rows as bytes: the key, and for each column that exists its number, time and value; -1 ends a row. */
final class Encoding {
    private Encoding() {}

    static void write(DataOutputStream out, String key, Row row) throws IOException {
        byte[] name = key.getBytes(StandardCharsets.UTF_8);
        out.writeShort(name.length);
        out.write(name);
        Cell[] cells = row.cells();
        for (int column = 0; column < cells.length; column++) {
            if (cells[column] != null) {
                out.writeByte(column);
                out.writeLong(cells[column].time());
                out.writeShort(cells[column].value().length);
                out.write(cells[column].value());
            }
        }
        out.writeByte(-1);
    }

    /** The bytes of one row. */
    static byte[] bytes(String key, Row row) {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try {
            write(new DataOutputStream(bytes), key, row);
        } catch (IOException e) {
            throw new AssertionError("memory can be written", e);
        }
        return bytes.toByteArray();
    }

    static String readKey(DataInputStream in) throws IOException {
        byte[] name = new byte[in.readUnsignedShort()];
        in.readFully(name);
        return new String(name, StandardCharsets.UTF_8);
    }

    static Row readRow(DataInputStream in, int columns) throws IOException {
        Cell[] cells = new Cell[columns];
        for (int column = in.readByte(); column >= 0; column = in.readByte()) {
            long time = in.readLong();
            byte[] value = new byte[in.readUnsignedShort()];
            in.readFully(value);
            cells[column] = new Cell(value, time);
        }
        return new Row(cells);
    }
}
