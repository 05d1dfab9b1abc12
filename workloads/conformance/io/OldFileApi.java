import java.io.File;
import java.io.IOException;
import java.util.Arrays;

public class OldFileApi {
    public static void main(String[] args) throws IOException {
        File dir = new File("folder");
        System.out.println(dir.mkdir() + " " + dir.mkdir() + " " + new File(dir, "a/b/c").mkdirs() + " " + dir.isDirectory());
        File f = new File(dir, "f.txt");
        System.out.println(f.createNewFile() + " " + f.createNewFile() + " " + f.length() + " " + f.isFile() + " " + f.isHidden());
        System.out.println(f.renameTo(new File(dir, "g.txt")) + " " + f.exists() + " " + new File("none").renameTo(f));
        String[] names = dir.list();
        Arrays.sort(names);
        System.out.println(Arrays.toString(names) + " " + dir.listFiles((d, n) -> n.endsWith(".txt")).length + " " + f.list());
        File g = new File("folder/../folder/./g.txt");
        System.out.println(g.getPath() + " " + g.getName() + " " + g.getParent() + " " + g.getCanonicalFile().getName() + " "
            + g.getCanonicalPath().endsWith("/folder/g.txt") + " " + g.isAbsolute() + " " + g.setReadOnly() + " " + g.setLastModified(86_400_000)
            + " " + g.lastModified());
        System.out.println(new File("a", "b") + " " + new File("/x//y/").getPath() + " " + new File("").getPath().isEmpty() + " "
            + new File("q").compareTo(new File("p")) + " " + new File("a").equals(new File("a")) + " " + new File("a").hashCode());
        System.out.println(dir.delete() + " " + new File(dir, "g.txt").delete() + " " + new File(dir, "a/b/c").delete());
        try {
            new File("/no/such/dir/file").createNewFile();
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
        try {
            File.createTempFile("x", null);
        } catch (IllegalArgumentException e) {
            System.out.println(e.getMessage());
        }
        System.out.println(new File("/").getTotalSpace() > 0);
    }
}
