//! A JAVA_HOME on this VM: the JDK's launchers in it, its file of options, and child processes of programs under
//! `vm run`.
//!
//! Needs the release `vm`, `libjvm.so` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Says which VM runs it, and starts itself again in the ways of build tools and application servers.
const RELAUNCH: &str = r#"
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

public class Relaunch {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "child" -> System.out.println(args[1] + ": " + vm());
            case "libraries" -> libraries();
            default -> parent();
        }
    }

    static String vm() {
        var bean = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        return System.getProperty("java.vm.name") + " " + bean.getVMOption("Collector").getValue() + " "
            + bean.getVMOption("LocalMemory").getValue() + " " + System.getProperty("given");
    }

    static void parent() throws Exception {
        System.out.println("parent: " + vm());
        List<String> options = ManagementFactory.getRuntimeMXBean().getInputArguments();
        var info = ProcessHandle.current().info();
        String home = System.getProperty("java.home");
        start("home", home + "/bin/java", options);
        start("environment", System.getenv("JAVA_HOME") + "/bin/java", options);
        start("command", info.command().orElseThrow(), options);
        // As supervisors do: the whole command line again, but for the program's own arguments.
        List<String> again = new ArrayList<>(List.of(info.arguments().orElseThrow()));
        again.set(again.size() - 1, "child");
        again.add("arguments");
        again.add(0, info.command().orElseThrow());
        start(again);
        start("no options", home + "/bin/java", List.of());
    }

    static void start(String how, String java, List<String> options) throws Exception {
        List<String> command = new ArrayList<>(List.of(java));
        command.addAll(options);
        command.addAll(List.of("-cp", System.getProperty("java.class.path"), "Relaunch", "child", how));
        start(command);
    }

    static void start(List<String> command) throws Exception {
        Process child = new ProcessBuilder(command).redirectErrorStream(true).start();
        System.out.print(new String(child.getInputStream().readAllBytes()));
        if (child.waitFor() != 0) {
            System.out.println("failed: " + command);
        }
    }

    /** What the class library reads from the home. */
    static void libraries() throws Exception {
        System.out.println(java.time.ZoneId.of("Europe/Berlin").getRules().isFixedOffset());
        System.out.println(java.security.Security.getProviders().length > 5);
        System.out.println(java.security.Security.getProperty("keystore.type"));
        System.out.println(javax.net.ssl.SSLContext.getDefault().getProtocol());
        var file = java.nio.file.Path.of(System.getProperty("java.home"), "lib/security/cacerts");
        System.out.println(java.security.KeyStore.getInstance(file.toFile(), "changeit".toCharArray()).getType());
        var modules = java.nio.file.FileSystems.getFileSystem(java.net.URI.create("jrt:/"));
        System.out.println(java.nio.file.Files.exists(modules.getPath("modules/java.sql/module-info.class")));
        System.out.println(javax.tools.ToolProvider.getSystemJavaCompiler() != null);
        System.out.println(new java.net.URI("http://localhost").toURL().openConnection() != null);
        System.out.println(java.nio.charset.Charset.forName("IBM037").name());
        System.out.println(System.getProperty("java.home"));
    }
}
"#;

const VM: &str = "Farheap 64-Bit Server VM";

/// A folder with the compiled program, and with the cache folder of `vm run`.
struct Place {
    scratch: Scratch,
    jdk: Jdk,
}

impl Place {
    fn new(name: &str) -> Place {
        let place = Place { scratch: Scratch::new(name).unwrap(), jdk: Jdk::find().unwrap() };
        place.jdk.compile_text("Relaunch", RELAUNCH, place.scratch.path()).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.scratch.path());
        command.env_remove("JAVA_TOOL_OPTIONS").env_remove("JDK_JAVA_OPTIONS");
        command.env("JAVA_HOME", &self.jdk.home).env("XDG_CACHE_HOME", self.path("cache"));
        command
    }

    /// Standard output of a command that must succeed.
    fn stdout(&self, program: &Path, arguments: &[&str]) -> String {
        succeeded(&mut self.command(program, arguments))
    }

    /// Makes the home `home`. Returns it.
    fn home(&self, arguments: &[&str]) -> PathBuf {
        let made = self.stdout(&program("vm"), &[&["java-home", "home"], arguments].concat());
        assert!(made.contains(&format!("JAVA_HOME={}", self.path("home").display())), "{made}");
        self.path("home")
    }

    /// Exit code and standard error of `vm java-home`.
    fn refused(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let arguments = [&["java-home"], arguments].concat();
        let output = self.command(&program("vm"), &arguments).output().unwrap();
        (output.status.code(), text(&output.stderr))
    }
}

fn succeeded(command: &mut Command) -> String {
    let output: Output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}: {output:?}");
    text(&output.stdout)
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_launchers_of_a_home_run_on_this_vm() {
    let place = Place::new("home-launchers");
    let home = place.home(&["--", "--gc", "serial", "-Dgiven=a b"]);
    let java = home.join("bin/java");
    let child = ["-cp", ".", "Relaunch", "child", "java"];
    assert_eq!(place.stdout(&java, &child), format!("java: {VM} serial 100% a b\n"));
    let classes = place.path("classes");
    let arguments = ["-J-showversion", "-d", "classes", "Relaunch.java"];
    let compiled = place.command(&home.join("bin/javac"), &arguments).output().unwrap();
    let said = text(&compiled.stderr);
    assert!(compiled.status.success() && said.contains(VM), "{said}");
    assert_eq!(
        std::fs::read(classes.join("Relaunch.class")).unwrap(),
        std::fs::read(place.path("Relaunch.class")).unwrap()
    );
    let libraries = |java: &Path| place.stdout(java, &["-cp", ".", "Relaunch", "libraries"]);
    let expected = libraries(&place.jdk.home.join("bin/java"));
    let theirs = place.jdk.home.canonicalize().unwrap().display().to_string();
    let ours = home.display().to_string();
    assert_eq!(libraries(&java), expected.replace(&theirs, &ours));
}

#[test]
fn a_copy_can_be_moved() {
    let place = Place::new("home-copy");
    place.home(&["--copy", "--", "--gc", "mako", "--local-memory", "25%", "-Xmx64m"]);
    let moved = place.path("elsewhere");
    std::fs::rename(place.path("home"), &moved).unwrap();
    let links = Command::new("find").arg(&moved).args(["-type", "l"]).output().unwrap();
    assert_eq!(text(&links.stdout), "");
    let child = ["-cp", ".", "Relaunch", "child", "copy"];
    let printed = place.stdout(&moved.join("bin/java"), &child);
    assert_eq!(printed, format!("copy: {VM} mako 25% null\n"));
}

#[test]
fn child_processes_of_a_program_run_on_this_vm_with_its_options() {
    let place = Place::new("home-children");
    let options = ["run", "--gc", "mako", "--local-memory", "25%", "-Xmx64m", "-Dgiven=yes"];
    let program_words = ["-cp", ".", "Relaunch", "parent"];
    let printed = place.stdout(&program("vm"), &[&options[..], &program_words].concat());
    let with_options = |how| format!("{how}: {VM} mako 25% yes\n");
    let expected =
        ["parent", "home", "environment", "command", "arguments"].map(with_options).concat();
    assert_eq!(printed, format!("{expected}no options: {VM} g1 100% null\n"));
    // The second run finds what the first one made.
    let homes = || std::fs::read_dir(place.path("cache/farheap/java-homes")).unwrap().count();
    assert_eq!(homes(), 1);
    place.stdout(&program("vm"), &["run", "-cp", ".", "Relaunch", "child", "again"]);
    assert_eq!(homes(), 1);
}

#[test]
fn a_program_runs_where_no_home_can_be_made() {
    let place = Place::new("home-none");
    let run = |options: &[&str]| {
        let words = [&["run"], options, &["-cp", ".", "Relaunch", "child", "x"]].concat();
        let mut command = place.command(&program("vm"), &words);
        let output = command.env("XDG_CACHE_HOME", "/proc/none").output().unwrap();
        assert_eq!(text(&output.stdout), format!("x: {VM} g1 100% null\n"), "{output:?}");
        text(&output.stderr)
    };
    assert!(run(&[]).contains("warning: no home of Java can be made"));
    assert_eq!(run(&["-XX:-PrintWarnings"]), "");
}

#[test]
fn options_of_a_home_come_before_all_others() {
    let place = Place::new("home-options");
    let java = place.home(&[]).join("bin/java");
    let file = place.path("home/conf/farheap.options");
    std::fs::write(&file, "# far memory\n-XX:Collector=serial -Dgiven='from the file'\n").unwrap();
    let run = |options: &[&str], variable: &str| {
        let words = [options, &["-cp", ".", "Relaunch", "child", "x"]].concat();
        let mut command = place.command(&java, &words);
        command.env("JAVA_TOOL_OPTIONS", variable).output().unwrap()
    };
    let printed = |options: &[&str], variable: &str| text(&run(options, variable).stdout);
    assert_eq!(printed(&[], ""), format!("x: {VM} serial 100% from the file\n"));
    let far = "-XX:Collector=mako -XX:LocalMemory=50% -Xmx64m";
    assert_eq!(printed(&[], far), format!("x: {VM} mako 50% from the file\n"));
    let shenandoah = ["-XX:Collector=shenandoah", "-Dgiven=last"];
    assert_eq!(printed(&shenandoah, far), format!("x: {VM} shenandoah 50% last\n"));
    // A second run makes the home anew and keeps the file; options replace it.
    place.home(&[]);
    assert_eq!(printed(&[], ""), format!("x: {VM} serial 100% from the file\n"));
    place.home(&["--", "-Dgiven=new"]);
    assert_eq!(printed(&[], ""), format!("x: {VM} g1 100% new\n"));
    std::fs::write(&file, "-XX:LocalMemory=some").unwrap();
    let bad = run(&[], "");
    assert!(
        !bad.status.success() && text(&bad.stderr).contains("conf/farheap.options: "),
        "{bad:?}"
    );
    let tool = place.command(&place.path("home/bin/javac"), &["-version"]).output().unwrap();
    assert!(tool.status.success(), "a tool does not read the file: {tool:?}");
}

#[test]
fn a_home_replaces_nothing_that_is_not_one() {
    let place = Place::new("home-refusals");
    std::fs::create_dir(place.path("mine")).unwrap();
    std::fs::write(place.path("mine/file"), "precious").unwrap();
    let (code, why) = place.refused(&["mine"]);
    assert_eq!(code, Some(1));
    assert!(why.contains("mine exists and was not made by `vm java-home`"), "{why}");
    assert_eq!(std::fs::read_to_string(place.path("mine/file")).unwrap(), "precious");
    let (code, why) = place.refused(&["mine/file"]);
    assert!(code == Some(1) && why.contains("was not made by"), "{why}");
    let (code, why) = place.refused(&["new", "--java-home", "mine"]);
    assert!(code == Some(1) && why.contains("is not a JDK"), "{why}");
    let (code, why) = place.refused(&["mine/file/new"]);
    assert!(code == Some(1) && why.contains("Not a directory"), "{why}");
    for (arguments, expected) in [
        (&[][..], "no folder"),
        (&["new", "--gc", "mako"], "unknown option --gc"),
        (&["new", "--", "--local-memory", "some"], "local memory is"),
        (&["new", "--", "-jar", "x.jar"], "-jar is no option of the VM"),
    ] {
        let (code, why) = place.refused(arguments);
        assert!(code == Some(2) && why.contains(expected), "{arguments:?}: {why}");
    }
    let names = std::fs::read_dir(place.scratch.path()).unwrap().flatten();
    let left: Vec<_> = names.map(|entry| entry.file_name()).filter(|name| name != "mine").collect();
    assert!(left.iter().all(|name| name.to_string_lossy().starts_with("Relaunch")), "{left:?}");
}
