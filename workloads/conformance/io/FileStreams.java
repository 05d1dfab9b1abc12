import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.File;
import java.io.FileInputStream;
import java.io.FileNotFoundException;
import java.io.FileOutputStream;
import java.io.FileReader;
import java.io.FileWriter;
import java.io.IOException;
import java.io.LineNumberReader;
import java.io.PrintWriter;
import java.io.PushbackReader;
import java.io.RandomAccessFile;
import java.io.SequenceInputStream;
import java.io.StringReader;

public class FileStreams {
    public static void main(String[] args) throws Exception {
        File file = File.createTempFile("streams", ".bin");
        file.deleteOnExit();
        try (DataOutputStream out = new DataOutputStream(new FileOutputStream(file))) {
            out.writeInt(42);
            out.writeLong(-1L);
            out.writeDouble(Math.PI);
            out.writeUTF("h\u00e9llo\u0000\ud83d\ude00");
            out.writeBoolean(true);
            out.writeChars("ab");
            System.out.println(out.size());
        }
        try (DataInputStream in = new DataInputStream(new FileInputStream(file))) {
            System.out.println(in.readInt() + " " + in.readLong() + " " + in.readDouble() + " " + in.readUTF().length() + " "
                + in.readBoolean() + " " + in.readChar() + in.readChar());
            in.readByte();
        } catch (EOFException e) {
            System.out.println("end of file");
        }
        try (BufferedWriter w = new BufferedWriter(new FileWriter(file))) {
            for (int i = 0; i < 1000; i++) {
                w.write("line " + i);
                w.newLine();
            }
        }
        try (LineNumberReader r = new LineNumberReader(new FileReader(file))) {
            String line;
            String last = null;
            while ((line = r.readLine()) != null) {
                last = line;
            }
            System.out.println(last + " " + r.getLineNumber() + " " + file.length());
        }
        try (RandomAccessFile raf = new RandomAccessFile(file, "rw")) {
            raf.seek(5);
            raf.write("ZERO".getBytes());
            raf.seek(raf.length());
            raf.writeShort(0x4142);
            raf.seek(0);
            System.out.println(raf.readLine() + " " + raf.readLine() + " " + raf.getFilePointer());
            raf.setLength(20);
            System.out.println(raf.length());
        }
        try (FileOutputStream append = new FileOutputStream(file, true); PrintWriter p = new PrintWriter(append)) {
            p.printf("%d-%s", 7, "x");
        }
        try (FileInputStream in = new FileInputStream(file)) {
            System.out.println(in.available() + " " + in.skip(20) + " " + new String(in.readAllBytes()) + " " + in.read());
        }
        try {
            new FileInputStream("no/such/file");
        } catch (FileNotFoundException e) {
            System.out.println(e.getMessage());
        }
        FileInputStream closed = new FileInputStream(file);
        closed.close();
        try {
            closed.read();
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
        PushbackReader push = new PushbackReader(new StringReader("abc"));
        int c = push.read();
        push.unread(c);
        System.out.println((char) push.read());
        SequenceInputStream both = new SequenceInputStream(new FileInputStream(file), new java.io.ByteArrayInputStream("tail".getBytes()));
        System.out.println(both.readAllBytes().length);
        both.close();
        System.out.println(file.delete() + " " + file.exists());
        try (BufferedReader r = new BufferedReader(new StringReader("a\nb\r\nc\rd"))) {
            System.out.println(r.lines().toList());
        }
    }
}
