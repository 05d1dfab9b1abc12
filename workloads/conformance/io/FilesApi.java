import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.FileTime;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.Stream;

public class FilesApi {
    public static void main(String[] args) throws Exception {
        Path root = Files.createTempDirectory("filesapi");
        Path a = root.resolve("a.txt");
        Files.writeString(a, "one\ntwo\nthree\n");
        Files.write(a, List.of("four"), StandardOpenOption.APPEND);
        System.out.println(Files.readAllLines(a) + " " + Files.size(a) + " " + Files.readString(a, StandardCharsets.UTF_8).length());
        Files.createDirectories(root.resolve("x/y/z"));
        Files.copy(a, root.resolve("x/b.txt"));
        Files.move(root.resolve("x/b.txt"), root.resolve("x/y/c.txt"), StandardCopyOption.ATOMIC_MOVE);
        try {
            Files.copy(a, root.resolve("x/y/c.txt"));
        } catch (FileAlreadyExistsException e) {
            System.out.println("exists: " + root.relativize(Path.of(e.getFile())));
        }
        try {
            Files.delete(root.resolve("x"));
        } catch (DirectoryNotEmptyException e) {
            System.out.println("not empty");
        }
        try {
            Files.delete(root.resolve("none"));
        } catch (NoSuchFileException e) {
            System.out.println("no such file");
        }
        Files.createSymbolicLink(root.resolve("link"), a);
        System.out.println(Files.isSymbolicLink(root.resolve("link")) + " " + Files.isSameFile(a, root.resolve("link")) + " "
            + Files.readSymbolicLink(root.resolve("link")).getFileName());
        Files.setPosixFilePermissions(a, PosixFilePermissions.fromString("rw-r-----"));
        System.out.println(PosixFilePermissions.toString(Files.getPosixFilePermissions(a)));
        Files.setLastModifiedTime(a, FileTime.fromMillis(1_000_000_000_000L));
        BasicFileAttributes attributes = Files.readAttributes(a, BasicFileAttributes.class);
        System.out.println(attributes.lastModifiedTime() + " " + attributes.isRegularFile() + " " + attributes.isDirectory()
            + " " + Files.getAttribute(a, "unix:nlink"));
        List<String> names = new ArrayList<>();
        try (Stream<Path> walk = Files.walk(root)) {
            walk.map(p -> root.relativize(p).toString()).sorted().forEach(names::add);
        }
        System.out.println(names);
        names.clear();
        try (DirectoryStream<Path> dir = Files.newDirectoryStream(root, "*.txt")) {
            dir.forEach(p -> names.add(p.getFileName().toString()));
        }
        System.out.println(names);
        try (Stream<String> lines = Files.lines(a)) {
            System.out.println(lines.filter(l -> l.contains("o")).toList());
        }
        Path bad = root.resolve("bad");
        Files.write(bad, new byte[] {(byte) 0xff, (byte) 0xfe});
        try (Stream<String> lines = Files.lines(bad)) {
            lines.count();
        } catch (UncheckedIOException e) {
            System.out.println(e.getCause());
        }
        int[] deleted = new int[1];
        Files.walkFileTree(root, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes attrs) throws IOException {
                Files.delete(file);
                deleted[0]++;
                return FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult postVisitDirectory(Path dir, IOException e) throws IOException {
                Files.delete(dir);
                deleted[0]++;
                return FileVisitResult.CONTINUE;
            }
        });
        System.out.println(deleted[0] + " " + Files.exists(root) + " " + Files.notExists(root));
        Path p = Path.of("/a/./b/../c/d.txt");
        System.out.println(p.normalize() + " " + p.getNameCount() + " " + p.getParent() + " " + p.subpath(1, 3) + " "
            + Path.of("/a/c").relativize(Path.of("/a/x/y")) + " " + p.startsWith("/a") + " " + p.resolveSibling("e") + " "
            + p.toUri() + " " + Path.of("").toAbsolutePath().isAbsolute() + " " + Path.of("b").compareTo(Path.of("a")));
        System.out.println(p.getFileSystem().getPathMatcher("glob:**/*.{txt,md}").matches(p) + " " + Collections.max(List.of(1, 2)));
    }
}
