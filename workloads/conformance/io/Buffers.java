import java.nio.BufferOverflowException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.CharBuffer;
import java.nio.IntBuffer;
import java.nio.ReadOnlyBufferException;
import java.nio.charset.Charset;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.CoderResult;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

public class Buffers {
    static void exercise(ByteBuffer b) {
        b.order(ByteOrder.LITTLE_ENDIAN).putInt(0x01020304).order(ByteOrder.BIG_ENDIAN).putInt(0x01020304);
        b.putShort((short) -2).putChar('\u20ac').putFloat(1.5f).putDouble(-2.5).putLong(7, -1L);
        System.out.println(b + " " + b.hashCode());
        b.flip();
        byte[] all = new byte[b.remaining()];
        b.duplicate().get(all);
        System.out.println(Arrays.toString(all));
        System.out.println(b.getInt() + " " + b.mark().getInt() + " " + b.getShort() + " " + b.getChar() + " " + b.getFloat() + " " + b.getDouble());
        b.reset();
        ByteBuffer slice = b.slice();
        slice.put(0, (byte) 99);
        System.out.println(b.get(b.position()) + " " + slice.position() + " " + slice.capacity() + " " + b.isDirect() + " " + b.hasArray());
        b.compact();
        System.out.println(b.position() + " " + b.limit() + " " + b.alignedSlice(1).remaining());
        IntBuffer ints = b.clear().asIntBuffer();
        ints.put(new int[] {1, 2, 3});
        System.out.println(b.getInt(8) + " " + ints.remaining() + " " + ints.order());
        try {
            b.position(b.limit()).get();
        } catch (BufferUnderflowException e) {
            System.out.println("underflow");
        }
        try {
            b.put((byte) 1);
        } catch (BufferOverflowException e) {
            System.out.println("overflow");
        }
        try {
            b.asReadOnlyBuffer().put(0, (byte) 1);
        } catch (ReadOnlyBufferException e) {
            System.out.println("read only");
        }
        try {
            b.get(1000);
        } catch (IndexOutOfBoundsException e) {
            System.out.println(e.getMessage());
        }
    }

    public static void main(String[] args) throws Exception {
        exercise(ByteBuffer.allocate(40));
        exercise(ByteBuffer.allocateDirect(40));
        ByteBuffer a = ByteBuffer.allocateDirect(10);
        ByteBuffer h = ByteBuffer.wrap("0123456789".getBytes());
        a.put(h.position(3).limit(8)).flip();
        System.out.println(a.equals(ByteBuffer.wrap("34567".getBytes())) + " " + a.compareTo(ByteBuffer.wrap("345".getBytes())) + " "
            + a.mismatch(ByteBuffer.wrap("3456x".getBytes())));
        CharBuffer c = CharBuffer.wrap("hello world");
        System.out.println(c.subSequence(2, 5) + " " + c.get(4) + " " + c.length());
        CharsetDecoder decoder = StandardCharsets.UTF_8.newDecoder().onMalformedInput(CodingErrorAction.REPORT);
        CharBuffer out = CharBuffer.allocate(10);
        CoderResult r = decoder.decode(ByteBuffer.wrap(new byte[] {'a', (byte) 0xc3, (byte) 0xa9, (byte) 0xff, 'b'}), out, true);
        System.out.println(r + " " + out.flip());
        System.out.println(StandardCharsets.UTF_16.encode("\u00e9").remaining() + " " + Charset.forName("windows-1252").encode("\u20ac").get(0)
            + " " + Charset.isSupported("no-such") + " " + new String(new byte[] {(byte) 0x82, (byte) 0xa0}, "Shift_JIS").codePointAt(0)
            + " " + Charset.defaultCharset());
    }
}
