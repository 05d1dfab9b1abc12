import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.AsynchronousFileChannel;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.NonReadableChannelException;
import java.nio.channels.OverlappingFileLockException;
import java.nio.channels.Pipe;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;

public class FileChannels {
    public static void main(String[] args) throws Exception {
        Path path = Files.createTempFile("channel", ".bin");
        FileChannel ch = FileChannel.open(path, StandardOpenOption.READ, StandardOpenOption.WRITE);
        ByteBuffer direct = ByteBuffer.allocateDirect(64);
        for (int i = 0; i < 8; i++) {
            direct.putLong(i * 1111L);
        }
        direct.flip();
        System.out.println(ch.write(direct) + " " + ch.position() + " " + ch.size());
        ByteBuffer heap = ByteBuffer.allocate(16);
        System.out.println(ch.read(heap, 8) + " " + heap.flip().getLong() + " " + heap.getLong());
        ByteBuffer[] parts = {ByteBuffer.wrap("ab".getBytes()), ByteBuffer.allocateDirect(3).put((byte) 'c').flip(), ByteBuffer.wrap("def".getBytes())};
        ch.position(64);
        System.out.println(ch.write(parts) + " " + ch.position());
        ByteBuffer[] into = {ByteBuffer.allocate(2), ByteBuffer.allocateDirect(4)};
        ch.position(64);
        System.out.println(ch.read(into) + " " + new String(into[0].array()) + " " + ch.read(ByteBuffer.allocate(1)));
        MappedByteBuffer map = ch.map(FileChannel.MapMode.READ_WRITE, 0, 8192);
        map.putInt(4096, 0xcafe);
        map.force();
        System.out.println(ch.size() + " " + map.getLong(8) + " " + Integer.toHexString(map.getInt(4096)) + " " + map.isDirect());
        heap.clear();
        ch.read(heap, 4096);
        System.out.println(Integer.toHexString(heap.getInt(0)));
        MappedByteBuffer readOnly = ch.map(FileChannel.MapMode.READ_ONLY, 0, 16);
        try {
            readOnly.put((byte) 1);
        } catch (java.nio.ReadOnlyBufferException e) {
            System.out.println("read only");
        }
        try (FileLock lock = ch.lock(0, 10, false)) {
            System.out.println(lock.isValid() + " " + lock.isShared() + " " + lock.overlaps(5, 1));
            ch.tryLock(5, 5, false);
        } catch (OverlappingFileLockException e) {
            System.out.println("overlapping");
        }
        Path copy = Files.createTempFile("copy", ".bin");
        try (FileChannel out = FileChannel.open(copy, StandardOpenOption.WRITE)) {
            System.out.println(ch.transferTo(0, 70, out) + " " + out.transferFrom(ch.position(64), 70, 6) + " " + out.size());
            try {
                out.read(heap);
            } catch (NonReadableChannelException e) {
                System.out.println("not readable");
            }
        }
        ch.truncate(10);
        System.out.println(ch.size());
        ch.close();
        try {
            ch.size();
        } catch (ClosedChannelException e) {
            System.out.println("closed");
        }
        try (AsynchronousFileChannel async = AsynchronousFileChannel.open(copy, StandardOpenOption.READ)) {
            ByteBuffer b = ByteBuffer.allocate(100);
            System.out.println(async.read(b, 64).get() + " " + new String(b.array(), 0, 6));
        }
        Pipe pipe = Pipe.open();
        Thread writer = new Thread(() -> {
            try (Pipe.SinkChannel sink = pipe.sink()) {
                sink.write(ByteBuffer.wrap("through the pipe".getBytes()));
            } catch (java.io.IOException e) {
                throw new AssertionError(e);
            }
        });
        writer.start();
        ByteBuffer got = ByteBuffer.allocate(100);
        while (pipe.source().read(got) >= 0) {
            Thread.onSpinWait();
        }
        System.out.println(new String(got.array(), 0, got.position()));
        Files.delete(path);
        Files.delete(copy);
    }
}
