import java.io.File;
import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;

/** The part of a mapping behind the end of a truncated file cannot be read or written; the rest can. */
public class TruncatedMapping {
    interface Access {
        void run() throws Exception;
    }

    static void attempt(String what, Access access) throws Exception {
        try {
            access.run();
            System.out.println(what + ": done");
        } catch (InternalError e) {
            System.out.println(what + ": " + e.getClass().getName());
        }
    }

    public static void main(String[] args) throws Exception {
        File file = File.createTempFile("mapped", null);
        file.deleteOnExit();
        try (FileChannel channel = new RandomAccessFile(file, "rw").getChannel()) {
            MappedByteBuffer buffer = channel.map(FileChannel.MapMode.READ_WRITE, 0, 40_000);
            buffer.put(100, (byte) 42);
            channel.truncate(512);
            VarHandle ints = MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());
            byte[] bytes = new byte[20_000];
            attempt("get", () -> buffer.get(8192));
            attempt("put", () -> buffer.put(8193, (byte) 1));
            attempt("long", () -> buffer.getLong(8200));
            attempt("bulk get", () -> buffer.get(0, bytes));
            attempt("bulk put", () -> buffer.put(0, bytes));
            attempt("swapped put", () -> buffer.duplicate().order(ByteOrder.BIG_ENDIAN).asLongBuffer().put(0, new long[2000]));
            attempt("swapped inside", () -> buffer.duplicate().order(ByteOrder.BIG_ENDIAN).asLongBuffer().put(0, new long[] {1, 2, 3}));
            System.out.println(buffer.getLong(16));
            attempt("volatile", () -> ints.getVolatile(buffer, 8192));
            attempt("compact", () -> buffer.duplicate().position(1).compact());
            attempt("force", buffer::force);
            attempt("inside", () -> buffer.get(100));
            channel.write(java.nio.ByteBuffer.wrap(new byte[] {7}), 39_999);
            attempt("grown again", () -> System.out.println(buffer.get(39_999) + " " + buffer.get(8192)));
        }
    }
}
