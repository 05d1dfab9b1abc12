import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

public class ZipFileSystem {
    public static void main(String[] args) throws Exception {
        Path zip = Path.of("fs.zip").toAbsolutePath();
        try (FileSystem fs = FileSystems.newFileSystem(zip, Map.of("create", "true"))) {
            Files.createDirectory(fs.getPath("/dir"));
            Files.writeString(fs.getPath("/dir/a.txt"), "inside".repeat(100));
            Files.writeString(fs.getPath("/b.txt"), "top");
        }
        try (FileSystem fs = FileSystems.newFileSystem(URI.create("jar:" + zip.toUri()), Map.of())) {
            try (Stream<Path> walk = Files.walk(fs.getPath("/"))) {
                System.out.println(walk.map(Path::toString).sorted().toList());
            }
            System.out.println(Files.readString(fs.getPath("dir", "a.txt")).length() + " " + Files.size(fs.getPath("/b.txt")));
        }
        System.out.println(Files.size(zip) < 600);
        Files.delete(zip);
        FileSystem jrt = FileSystems.getFileSystem(URI.create("jrt:/"));
        byte[] object = Files.readAllBytes(jrt.getPath("/modules/java.base/java/lang/Object.class"));
        System.out.println(object.length > 500 && object[0] == (byte) 0xca);
        System.out.println(List.of("file", "jar", "jrt").contains(FileSystems.getDefault().provider().getScheme()));
    }
}
