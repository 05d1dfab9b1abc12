import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.jar.Attributes;
import java.util.jar.JarFile;
import java.util.jar.JarOutputStream;
import java.util.jar.Manifest;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.GZIPInputStream;
import java.util.zip.GZIPOutputStream;
import java.util.zip.Inflater;
import java.util.zip.ZipEntry;
import java.util.zip.ZipException;
import java.util.zip.ZipFile;
import java.util.zip.ZipInputStream;
import java.util.zip.ZipOutputStream;

public class Compression {
    public static void main(String[] args) throws Exception {
        byte[] text = "compress me, compress me! ".repeat(200).getBytes();
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (GZIPOutputStream gzip = new GZIPOutputStream(bytes)) {
            gzip.write(text);
        }
        try (GZIPInputStream in = new GZIPInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            System.out.println(new String(in.readAllBytes()).equals(new String(text)) + " " + (bytes.size() < 200));
        }
        Deflater deflater = new Deflater(9, true);
        deflater.setInput(text);
        deflater.finish();
        byte[] buffer = new byte[1000];
        int n = deflater.deflate(buffer);
        deflater.end();
        Inflater inflater = new Inflater(true);
        inflater.setInput(buffer, 0, n);
        byte[] back = new byte[10000];
        System.out.println(inflater.inflate(back) + " " + inflater.finished() + " " + inflater.getTotalOut());
        inflater.end();
        Inflater bad = new Inflater();
        bad.setInput(new byte[] {1, 2, 3, 4, 5});
        try {
            bad.inflate(back);
        } catch (DataFormatException e) {
            System.out.println(e.getMessage());
        }
        bad.end();
        bytes.reset();
        try (ZipOutputStream zip = new ZipOutputStream(bytes)) {
            for (int i = 0; i < 5; i++) {
                zip.putNextEntry(new ZipEntry("dir/file" + i + ".txt"));
                zip.write(text, 0, i * 100);
                zip.closeEntry();
            }
            try {
                zip.putNextEntry(new ZipEntry("dir/file1.txt"));
            } catch (ZipException e) {
                System.out.println(e.getMessage());
            }
        }
        try (ZipInputStream zip = new ZipInputStream(new ByteArrayInputStream(bytes.toByteArray()))) {
            for (ZipEntry e = zip.getNextEntry(); e != null; e = zip.getNextEntry()) {
                System.out.print(e.getName() + ":" + zip.readAllBytes().length + " ");
            }
        }
        System.out.println();
        Path file = Files.createTempFile("compression", ".zip");
        Files.write(file, bytes.toByteArray());
        try (ZipFile zip = new ZipFile(file.toFile())) {
            ZipEntry e = zip.getEntry("dir/file3.txt");
            System.out.println(zip.size() + " " + e.getSize() + " " + Long.toHexString(e.getCrc()) + " "
                + new String(zip.getInputStream(e).readNBytes(12)) + " " + zip.getEntry("none"));
        }
        Manifest manifest = new Manifest();
        manifest.getMainAttributes().put(Attributes.Name.MANIFEST_VERSION, "1.0");
        manifest.getMainAttributes().put(Attributes.Name.MAIN_CLASS, "a.Main");
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file), manifest)) {
            jar.putNextEntry(new ZipEntry("r.txt"));
            jar.write("resource".getBytes());
        }
        try (JarFile jar = new JarFile(file.toFile())) {
            System.out.println(jar.getManifest().getMainAttributes().getValue("Main-Class") + " " + jar.stream().count());
        }
        try (java.net.URLClassLoader loader = new java.net.URLClassLoader(new java.net.URL[] {file.toUri().toURL()})) {
            System.out.println(new String(loader.getResourceAsStream("r.txt").readAllBytes()));
        }
        Files.delete(file);
        try {
            new ZipFile("missing.zip");
        } catch (java.nio.file.NoSuchFileException e) {
            System.out.println("no such file: " + e.getMessage());
        }
    }
}
