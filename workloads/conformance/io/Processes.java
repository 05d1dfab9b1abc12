import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;

public class Processes {
    public static void main(String[] args) throws Exception {
        Process echo = new ProcessBuilder("/bin/echo", "hello", "from child").start();
        System.out.println(new String(echo.getInputStream().readAllBytes()).trim() + " " + echo.waitFor() + " " + echo.exitValue() + " " + echo.isAlive());
        Process cat = Runtime.getRuntime().exec(new String[] {"/bin/cat"});
        cat.getOutputStream().write("piped text\n".getBytes());
        cat.getOutputStream().close();
        System.out.println(new BufferedReader(new InputStreamReader(cat.getInputStream())).readLine() + " " + cat.waitFor());
        ProcessBuilder shell = new ProcessBuilder("/bin/sh", "-c", "echo out; echo err >&2; echo $VARIABLE; exit 3");
        shell.environment().put("VARIABLE", "set by parent");
        shell.redirectErrorStream(true);
        Process p = shell.start();
        System.out.print(new String(p.getInputStream().readAllBytes()));
        System.out.println(p.waitFor());
        Path out = Files.createTempFile("process", ".out");
        Process redirected = new ProcessBuilder("/bin/sh", "-c", "pwd").directory(new java.io.File("/")).redirectOutput(out.toFile()).start();
        System.out.println(redirected.waitFor(10, TimeUnit.SECONDS) + " " + Files.readString(out).trim());
        Files.delete(out);
        Process sleep = new ProcessBuilder("/bin/sleep", "100").start();
        System.out.println(sleep.isAlive() + " " + sleep.waitFor(5, TimeUnit.MILLISECONDS));
        try {
            sleep.exitValue();
        } catch (IllegalThreadStateException e) {
            System.out.println(e.getMessage());
        }
        sleep.destroy();
        System.out.println(sleep.waitFor());
        Process killed = new ProcessBuilder("/bin/sleep", "100").start().destroyForcibly();
        System.out.println(killed.waitFor() + " " + killed.onExit().get().exitValue());
        try {
            new ProcessBuilder("/no/such/program").start();
        } catch (IOException e) {
            System.out.println(e.getMessage());
        }
        List<Process> pipeline = ProcessBuilder.startPipeline(List.of(new ProcessBuilder("/bin/echo", "b\na\nc").redirectError(ProcessBuilder.Redirect.INHERIT),
            new ProcessBuilder("sort")));
        System.out.println(new String(pipeline.get(1).getInputStream().readAllBytes()).replace("\n", ","));
        ProcessHandle self = ProcessHandle.current();
        System.out.println((self.pid() > 0) + " " + self.isAlive() + " " + self.parent().isPresent() + " " + self.info().command().isPresent());
    }
}
