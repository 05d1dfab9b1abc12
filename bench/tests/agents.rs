//! Java agents: from the command line, by a tool, and of the main program's jar. The same programs run on HotSpot, and
//! print the same.
//!
//! Needs the release `vm` beside the test runner's folder (`make build`), and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::{self, Jdk};
use programs::program;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// An agent that replaces one text by another in the classes of the program.
const AGENT: &str = r#"
import java.io.File;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.lang.instrument.UnmodifiableClassException;
import java.nio.charset.StandardCharsets;
import java.security.ProtectionDomain;
import java.util.Arrays;
import java.util.jar.JarFile;

public class Agent {
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation given) throws Exception {
        System.out.println("premain " + options + " on " + Thread.currentThread().getName() + ", by "
            + Agent.class.getClassLoader().getClass().getSimpleName());
        if ("throws".equals(options)) {
            throw new IllegalStateException("of the agent");
        }
        start(given, options);
    }

    public static void agentmain(String options, Instrumentation given) throws Exception {
        System.out.println("agentmain " + options);
        start(given, options);
    }

    static void start(Instrumentation given, String options) {
        instrumentation = given;
        if (options == null || !options.contains(">")) {
            return;
        }
        String[] words = options.split(">");
        given.addTransformer(new ClassFileTransformer() {
            @Override
            public byte[] transform(Module module, ClassLoader loader, String name, Class<?> redefined,
                    ProtectionDomain domain, byte[] bytes) {
                if (name == null || !name.startsWith("Program")) {
                    return null;
                }
                System.out.println("transform " + name + ", named module " + module.isNamed() + ", domain "
                    + (domain != null) + ", redefined " + redefined);
                if (name.endsWith("Odd")) {
                    // Loads a class, which is not transformed.
                    System.out.println("inside " + new ProgramInner());
                    throw new IllegalStateException("the class is loaded as it is");
                }
                String text = new String(bytes, StandardCharsets.ISO_8859_1);
                return text.replace(words[0], words[1]).getBytes(StandardCharsets.ISO_8859_1);
            }
        });
    }
}

class ProgramInner {
    @Override
    public String toString() {
        return "plain inner";
    }
}
"#;

const PROGRAM: &str = r#"
import java.io.File;
import java.lang.instrument.Instrumentation;
import java.util.Arrays;
import java.util.List;
import java.util.jar.JarFile;

public class Program {
    public static void main(String[] args) throws Exception {
        System.out.println("main: plain text");
        if (args.length > 0 && args[0].equals("attach")) {
            var vm = com.sun.tools.attach.VirtualMachine.attach(Long.toString(ProcessHandle.current().pid()));
            vm.loadAgent(args[1], args[2]);
            try {
                vm.loadAgent(args[1] + ".none", "");
            } catch (com.sun.tools.attach.AgentLoadException e) {
                System.out.println(e.getMessage());
            }
            vm.detach();
        }
        System.out.println(new ProgramOther());
        System.out.println(new ProgramOdd());
        Instrumentation given = instrumentation();
        if (given == null) {
            return;
        }
        var all = Arrays.asList(given.getAllLoadedClasses());
        System.out.println(all.containsAll(List.of(Program.class, Object.class, int[].class, String[].class)) + " "
            + all.contains(int.class));
        var initiated = Arrays.asList(given.getInitiatedClasses(Program.class.getClassLoader()));
        System.out.println(initiated.containsAll(List.of(Program.class, ProgramOdd.class)));
        System.out.println(given.isModifiableClass(Program.class) + " " + given.isModifiableClass(int[].class));
        long small = given.getObjectSize(new byte[10]);
        System.out.println((small >= 24 && small <= 32) + " " + (given.getObjectSize(new long[1000]) / 100));
        Runnable lambda = () -> System.out.println("a lambda");
        lambda.run();
        if (args.length > 0 && args[0].equals("search")) {
            given.appendToBootstrapClassLoaderSearch(new JarFile(args[1]));
            System.out.println(Class.forName("Extra", true, null).getClassLoader());
            given.appendToSystemClassLoaderSearch(new JarFile(args[2]));
            System.out.println(Class.forName("Late").getClassLoader().getClass().getSimpleName());
        }
    }

    static Instrumentation instrumentation() throws Exception {
        try {
            var field = Class.forName("Agent").getDeclaredField("instrumentation");
            field.setAccessible(true);
            return (Instrumentation) field.get(null);
        } catch (ClassNotFoundException e) {
            return null;
        }
    }
}

class ProgramOther {
    @Override
    public String toString() {
        return "other: plain text";
    }
}

class ProgramOdd {
    @Override
    public String toString() {
        return "odd: plain text";
    }
}
"#;

/// Asks for what this VM does not offer.
const UNSUPPORTED: &str = r#"
import java.lang.instrument.ClassDefinition;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;

public class Unsupported {
    interface Action {
        void run() throws Exception;
    }

    static void fails(Action action) throws Exception {
        try {
            action.run();
            System.out.println("done");
        } catch (UnsupportedOperationException e) {
            System.out.println("refused");
        }
    }

    public static void premain(String options, Instrumentation given) throws Exception {
        System.out.println(given.isRetransformClassesSupported() + " " + given.isRedefineClassesSupported() + " "
            + given.isNativeMethodPrefixSupported());
        fails(() -> given.retransformClasses(Unsupported.class));
        fails(() -> given.redefineClasses(new ClassDefinition(Unsupported.class, new byte[0])));
        fails(() -> given.addTransformer(new ClassFileTransformer() { }, true));
    }

    public static void main(String[] args) {
    }
}
"#;

struct Site {
    jdk: Jdk,
    scratch: Scratch,
}

impl Site {
    fn new(label: &str) -> Site {
        Site { jdk: Jdk::find().unwrap(), scratch: Scratch::new(label).unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    fn compile(&self, name: &str, source: &str) -> PathBuf {
        let folder = self.scratch.folder(name).unwrap();
        self.jdk.compile_text(name, source, &folder).unwrap();
        folder
    }

    /// A jar of a folder with classes, and these lines in its manifest.
    fn jar(&self, name: &str, classes: &Path, attributes: &str) -> PathBuf {
        let (jar, manifest) = (self.path(name), self.path("manifest"));
        fs::write(&manifest, attributes).unwrap();
        let mut command = jdk::plain(&self.jdk.home.join("bin/jar"), &self.jdk);
        command.arg("cfm").arg(&jar).arg(&manifest).arg("-C").arg(classes).arg(".");
        assert!(command.status().unwrap().success());
        jar
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(program("vm"));
        command.env("JAVA_HOME", &self.jdk.home).arg("run").args(arguments);
        command.current_dir(self.scratch.path()).output().unwrap()
    }

    /// What both VMs print.
    fn same(&self, arguments: &[&str]) -> String {
        let ours = self.run(arguments);
        let theirs = self.jdk.java().args(arguments).output().unwrap();
        let [text, expected] =
            [&ours, &theirs].map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
        let errors = [&ours, &theirs].map(|output| String::from_utf8_lossy(&output.stderr));
        assert_eq!(text, expected, "{errors:?}");
        assert_eq!(ours.status, theirs.status, "{errors:?}");
        text
    }
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn agents_of_the_command_line_transform_classes() {
    let site = Site::new("agents-premain");
    let (agent, program) = (site.compile("Agent", AGENT), site.compile("Program", PROGRAM));
    let agent = site.jar("agent.jar", &agent, "Premain-Class: Agent\n");
    let program = text(&program);
    let agent = format!("-javaagent:{}", text(&agent));
    // Without transformers, with one, and with two that see each other's work.
    let first = site.same(&[&agent, "-cp", program, "Program"]);
    assert!(first.starts_with("premain null on main, by AppClassLoader\nmain: plain text\n"));
    let moved = site.same(&[&format!("{agent}=plain>moved"), "-cp", program, "Program"]);
    for part in ["main: moved text", "other: moved text", "odd: plain text", "inside plain inner"] {
        assert!(moved.contains(part), "{part}: {moved}");
    }
    let options = [&format!("{agent}=plain>moved"), &format!("{agent}=moved>woken")];
    let twice = site.same(&[options[0], options[1], "-cp", program, "Program"]);
    assert!(twice.contains("main: woken text"), "{twice}");
}

#[test]
fn tools_load_agents_and_agents_append_to_class_paths() {
    let site = Site::new("agents-attach");
    let (agent, program) = (site.compile("Agent", AGENT), site.compile("Program", PROGRAM));
    let extra = site.compile("Extra", "public class Extra { }");
    let late = site.compile("Late", "public class Late { }");
    let (extra, late) = (site.jar("extra.jar", &extra, "\n"), site.jar("late.jar", &late, "\n"));
    let attributes = "Agent-Class: Agent\nPremain-Class: Agent\nLauncher-Agent-Class: Agent\n";
    let agent = site.jar("agent.jar", &agent, attributes);
    let attach = "-Djdk.attach.allowAttachSelf=true";
    let arguments = ["-cp", text(&program), "Program", "attach", text(&agent), "plain>moved"];
    let output = site.same(&[&[attach], &arguments[..]].concat());
    for part in
        ["agentmain plain>moved\nAgent JAR not found", "main: plain text", "other: moved text"]
    {
        assert!(output.contains(part), "{part}: {output}");
    }
    let option = format!("-javaagent:{}", text(&agent));
    let search = [&option, "-cp", text(&program), "Program", "search", text(&extra), text(&late)];
    assert!(site.same(&search).ends_with("null\nAppClassLoader\n"));
    // The boot loader gets what the manifest names; the jar of the main program may be an agent.
    let attributes = "Premain-Class: Extra\nBoot-Class-Path: extra.jar none.jar\n";
    fs::create_dir(site.path("boot")).unwrap();
    let source = "public class Boot { public static void premain(String o) throws Exception { \
                  System.out.println(Class.forName(\"Extra\", true, null).getClassLoader()); } \
                  public static void main(String[] a) { } }";
    let boot = site.compile("Boot", source);
    let boot = site.jar("boot.jar", &boot, &attributes.replace("Class: Extra", "Class: Boot"));
    let option = format!("-javaagent:{}", text(&boot));
    assert_eq!(site.same(&[&option, "-cp", text(&boot), "Boot"]), "null\n");
    let folder = site.path("Program");
    for class in ["Agent", "Agent$1", "ProgramInner"] {
        let file = format!("{class}.class");
        fs::copy(site.path("Agent").join(&file), folder.join(&file)).unwrap();
    }
    let main = "Main-Class: Program\nLauncher-Agent-Class: Agent\n";
    let main = site.jar("main.jar", &folder, main);
    assert!(site.same(&["-jar", text(&main)]).starts_with("agentmain \nmain: plain text\n"));
}

#[test]
fn what_cannot_be_changed_is_refused_and_bad_agents_end_the_vm() {
    let site = Site::new("agents-refused");
    let classes = site.compile("Unsupported", UNSUPPORTED);
    let agent = site.jar("agent.jar", &classes, "Premain-Class: Unsupported\n");
    let option = |jar: &Path| format!("-javaagent:{}", text(jar));
    let run = |option: &str| site.run(&[option, "-cp", text(&classes), "Unsupported"]);
    let output = run(&option(&agent));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(said, "false false false\nrefused\nrefused\nrefused\n", "{output:?}");
    let plain = site.jar("plain.jar", &classes, "\n");
    let missing = site.jar("missing.jar", &classes, "Premain-Class: Missing\n");
    for (jar, message) in [
        (site.path("none.jar"), "Error opening zip file or JAR manifest missing : "),
        (classes.clone(), "Error opening zip file or JAR manifest missing : "),
        (plain, "Failed to find Premain-Class manifest attribute in "),
    ] {
        let output = run(&option(&jar));
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(errors.contains(message) && errors.contains(text(&jar)), "{errors}");
        assert_eq!(output.status.code(), Some(1), "{errors}");
    }
    let output = run(&option(&missing));
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(errors.contains("ClassNotFoundException: Missing"), "{errors}");
    assert!(errors.contains("FATAL ERROR in native method: processing of -javaagent failed"));
    assert_eq!(output.status.signal(), Some(6), "{errors}");
}
