//! Programs of others that find Java by `JAVA_HOME`: builds, a web server and Spark, with a home that `vm java-home`
//! has made and nothing else set.
//!
//! Each program prints `java.vm.name` from where its own code runs: in the build tool, in the processes that it
//! starts, in a web page, in tasks of Spark. In addition every VM that starts from the home writes a log of its own,
//! because the home's options say so, and HotSpot would not read these.

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use clap::Args;

use crate::harness::cache;
use crate::harness::process::{self, End, Run};
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::java::vm::Vm;

/// Run Maven, Gradle, Ant, Tomcat and Spark with a JAVA_HOME on our VM
#[derive(Args)]
pub struct Options {
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// Time limit of one program, in seconds
    #[arg(long, default_value_t = 600)]
    timeout: u64,
    /// The programs to run [default: all]: maven, gradle, ant, tomcat, spark, spark-cluster
    programs: Vec<String>,
    /// Options of the VM for the home, behind `--`
    #[arg(last = true)]
    options: Vec<String>,
}

/// A program to run: its name, the minimum number of VMs that it starts, and its steps. These return the lines in
/// which code of the program said on which VM it runs.
type Program = (&'static str, usize, fn(&Place) -> io::Result<Vec<String>>);

const PROGRAMS: [Program; 6] = [
    // The tool twice, and the VM that runs the tests.
    ("maven", 3, maven),
    // Four starts of the tool, and the daemon.
    ("gradle", 5, gradle),
    ("ant", 2, ant),
    // The server, and what stops it.
    ("tomcat", 2, tomcat),
    // What makes the command line, and the driver.
    ("spark", 2, spark),
    // The same, and two executors.
    ("spark-cluster", 4, spark_cluster),
];

/// Runs all programs; true if all ran on our VM.
pub fn run(options: &Options) -> io::Result<bool> {
    let known = |name: &String| PROGRAMS.iter().any(|program| program.0 == name);
    if let Some(name) = options.programs.iter().find(|name| !known(name)) {
        return Err(io::Error::other(format!("unknown program {name}")));
    }
    let scratch = Scratch::new("java-home")?;
    let logs = scratch.folder("logs")?;
    let home = make_home(options, &scratch, &logs)?;
    let mut fine = true;
    for (name, processes, steps) in PROGRAMS {
        if !options.programs.is_empty() && !options.programs.iter().any(|wanted| wanted == name) {
            continue;
        }
        let place = Place {
            home: home.clone(),
            folder: scratch.folder(name)?,
            limit: Duration::from_secs(options.timeout),
        };
        let (before, start) = (names(&logs)?, Instant::now());
        let said = steps(&place);
        let started = names(&logs)?.difference(&before).count();
        let verdict = match said {
            Err(error) => Err(error.to_string()),
            Ok(said) => judge(&said, started, processes),
        };
        let seconds = start.elapsed().as_secs_f64();
        match verdict {
            Ok(()) => println!("{name:14} {seconds:6.1} s  passed, {started} VMs"),
            Err(why) => {
                fine = false;
                println!("{name:14} {seconds:6.1} s  failed: {why}");
            }
        }
    }
    Ok(fine)
}

/// Why lines of a program, and the number of VMs on which it ran, do not show that all of it ran on our VM.
fn judge(said: &[String], started: usize, processes: usize) -> Result<(), String> {
    if said.is_empty() {
        return Err("it did not say on which VM it runs".into());
    }
    if let Some(other) = said.iter().find(|line| !line.contains("Farheap")) {
        return Err(format!("it runs on another VM: {other}"));
    }
    if started < processes {
        return Err(format!("{started} VMs were started from the home, {processes} were expected"));
    }
    Ok(())
}

/// Makes a home whose VMs write their logs into `logs`.
fn make_home(options: &Options, scratch: &Scratch, logs: &Path) -> io::Result<PathBuf> {
    let home = scratch.path().join("home");
    let mut command = Command::new(Vm::find(options.vm.clone())?.path());
    command.arg("java-home").arg("--java-home").arg(Jdk::find()?.home).arg(&home).arg("--");
    command.arg(format!("-Xlog:gc:file={}/%p.log", logs.display())).args(&options.options);
    let output = command.output()?;
    match output.status.success() {
        true => Ok(home),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// Where a program runs.
struct Place {
    home: PathBuf,
    folder: PathBuf,
    limit: Duration,
}

impl Place {
    fn write(&self, name: &str, text: &str) -> io::Result<()> {
        let path = self.folder.join(name);
        std::fs::create_dir_all(path.parent().expect("it is below the folder"))?;
        std::fs::write(path, text)
    }

    /// A command that knows Java by `JAVA_HOME`.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(program.as_ref());
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
        command.env("HOME", &self.folder).env("LC_ALL", "C.UTF-8").env("JAVA_HOME", &self.home);
        command
    }

    /// Runs a command, which has to succeed. Returns its standard output.
    fn run(&self, step: &str, command: Command) -> io::Result<String> {
        let folder = self.folder.join(format!("run-{step}"));
        std::fs::create_dir_all(&folder)?;
        let run = process::run(command, &folder, b"", self.limit)?;
        match run.end {
            End::Exit(0) => Ok(String::from_utf8_lossy(&run.stdout).into_owned()),
            _ => Err(failed(step, &run)),
        }
    }
}

fn failed(step: &str, run: &Run) -> io::Error {
    let last = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(LINES_SHOWN)..].join("\n")
    };
    io::Error::other(format!("{step}: {}\n{}\n{}", run.end, last(&run.stdout), last(&run.stderr)))
}

/// The rest of each line behind the mark, where it is.
fn said(output: &str) -> Vec<String> {
    output.lines().filter_map(|line| Some(line.split_once(MARK)?.1.to_string())).collect()
}

fn names(folder: &Path) -> io::Result<BTreeSet<PathBuf>> {
    std::fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect()
}

/// A build that compiles, and runs a test in a VM of its own, with the plugins of the Debian packages.
fn maven(place: &Place) -> io::Result<Vec<String>> {
    place.write("pom.xml", POM)?;
    place.write("src/main/java/Tiny.java", TINY)?;
    place.write("src/test/java/TinyTest.java", TINY_TEST)?;
    let mut version = place.command("mvn");
    version.arg("-v");
    let version = place.run("version", version)?;
    let runtime = format!("runtime: {}", place.home.display());
    if !version.contains(&runtime) {
        return Err(io::Error::other(format!("no `{runtime}` in: {version}")));
    }
    let mut build = place.command("mvn");
    build.args(["-o", "-B", "-Dmaven.repo.local=/usr/share/maven-repo", "-f"]);
    build.arg(place.folder.join("pom.xml")).arg("package");
    let output = place.run("package", build)?;
    if !place.folder.join("target/tiny-1.jar").is_file() {
        return Err(io::Error::other(format!("it built no jar: {output}")));
    }
    Ok(said(&output))
}

/// A task in the daemon, twice, and the end of the daemon.
fn gradle(place: &Place) -> io::Result<Vec<String>> {
    place.write("build.gradle", GRADLE)?;
    let mut command = place.command("sh");
    // One process group, which ends with the last command: the daemon serves all of them.
    command.args([
        "-ec",
        "gradle --version; for i in 1 2; do gradle --offline -q -p \"$1\" vm; done; gradle --stop",
    ]);
    command.arg("sh").arg(&place.folder).env("GRADLE_USER_HOME", place.folder.join("gradle"));
    let output = place.run("build", command)?;
    let version = output.lines().find(|line| line.starts_with("JVM:")).unwrap_or_default();
    Ok([vec![version.to_string()], said(&output)].concat())
}

/// Compiling, and running in the own VM and in another one.
fn ant(place: &Place) -> io::Result<Vec<String>> {
    place.write("build.xml", ANT)?;
    place.write("src/Tiny.java", TINY)?;
    let mut command = place.command("ant");
    command.arg("-f").arg(place.folder.join("build.xml"));
    Ok(said(&place.run("build", command)?))
}

/// Start, a page that is compiled when it is asked for, stop.
fn tomcat(place: &Place) -> io::Result<Vec<String>> {
    let ports = [free_port()?, free_port()?];
    let server =
        SERVER.replace("STOP", &ports[0].to_string()).replace("WEB", &ports[1].to_string());
    place.write("conf/server.xml", &server)?;
    place.write("webapps/ROOT/vm.jsp", PAGE)?;
    for folder in ["logs", "temp", "work"] {
        std::fs::create_dir_all(place.folder.join(folder))?;
    }
    for name in ["catalina.properties", "context.xml", "logging.properties", "web.xml"] {
        let from = Path::new(TOMCAT).join("skel/conf").join(name);
        std::fs::copy(&from, place.folder.join("conf").join(name))
            .map_err(|error| io::Error::other(format!("{}: {error}", from.display())))?;
    }
    let catalina = |what: &str| {
        let mut command = place.command(Path::new(TOMCAT).join("bin/catalina.sh"));
        command.env("CATALINA_HOME", TOMCAT).env("CATALINA_BASE", &place.folder).arg(what);
        command
    };
    thread::scope(|scope| {
        let server = scope.spawn(|| place.run("server", catalina("run")));
        let deadline = Instant::now() + place.limit;
        let page = loop {
            match page(ports[1]) {
                Ok(page) => break Ok(page),
                Err(error) if server.is_finished() || Instant::now() > deadline => {
                    break Err(error);
                }
                Err(_) => thread::sleep(Duration::from_millis(200)),
            }
        };
        if !server.is_finished() {
            place.run("stop", catalina("stop"))?;
        }
        server.join().map_err(|_| io::Error::other("the thread of the server failed"))??;
        Ok(said(&page?))
    })
}

/// The answer to a request for the page.
fn page(port: u16) -> io::Result<String> {
    let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    stream.write_all(b"GET /vm.jsp HTTP/1.0\r\nHost: localhost\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.lines().next() {
        Some(line) if line.contains(" 200 ") => Ok(answer),
        line => Err(io::Error::other(format!("the page: {}", line.unwrap_or("no answer")))),
    }
}

fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port())
}

/// Driver and tasks in one VM.
fn spark(place: &Place) -> io::Result<Vec<String>> {
    submit(place, "local[2]", 1)
}

/// The driver, and executors that Spark's worker processes start.
fn spark_cluster(place: &Place) -> io::Result<Vec<String>> {
    submit(place, "local-cluster[2,1,1024]", 3)
}

/// Runs a job on this master. It must have run in this number of VMs.
fn submit(place: &Place, master: &str, vms: usize) -> io::Result<Vec<String>> {
    let spark = cache::folder()?.join("pyspark-3.5.3/pyspark");
    if !spark.is_dir() {
        let place = spark.display();
        return Err(io::Error::other(format!("there is no {place}: run `make setup-apps`")));
    }
    place.write("Job.java", JOB)?;
    let classes = place.folder.join("classes");
    let mut compile = place.command(place.home.join("bin/javac"));
    compile.arg("-cp").arg(spark.join("jars/*")).arg("-d").arg(&classes);
    compile.arg(place.folder.join("Job.java"));
    place.run("javac", compile)?;
    let jar = place.folder.join("job.jar");
    let mut pack = place.command(place.home.join("bin/jar"));
    pack.arg("cf").arg(&jar).arg("-C").arg(&classes).arg(".");
    place.run("jar", pack)?;
    let mut job = place.command(spark.join("bin/spark-submit"));
    job.env("SPARK_HOME", &spark).env("SPARK_LOCAL_IP", "127.0.0.1");
    job.args(["--master", master, "--driver-memory", "512m", "--class", "Job"]);
    job.args(["--conf", "spark.executor.memory=512m", "--conf", "spark.ui.enabled=false"]).arg(jar);
    let output = place.run("job", job)?;
    let said = said(&output);
    let different: BTreeSet<&String> = said.iter().collect();
    if different.len() < vms || !output.contains("sum 999000") {
        return Err(io::Error::other(format!("it ran in {} VMs: {output}", different.len())));
    }
    Ok(said)
}

/// Before the name of a VM.
const MARK: &str = "runs on: ";

/// Of output that is shown of a program that failed.
const LINES_SHOWN: usize = 12;

const TOMCAT: &str = "/usr/share/tomcat10";

const TINY: &str = r#"
public class Tiny {
    public static void main(String[] args) {
        System.out.println("runs on: " + System.getProperty("java.vm.name"));
    }
}
"#;

const TINY_TEST: &str = r#"
public class TinyTest {
    @org.junit.Test
    public void runs() {
        Tiny.main(new String[0]);
    }
}
"#;

const POM: &str = r#"<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>farheap</groupId>
  <artifactId>tiny</artifactId>
  <version>1</version>
  <properties>
    <maven.compiler.release>17</maven.compiler.release>
    <project.build.sourceEncoding>UTF-8</project.build.sourceEncoding>
  </properties>
  <dependencies>
    <dependency>
      <groupId>junit</groupId>
      <artifactId>junit</artifactId>
      <version>4.x</version>
      <scope>test</scope>
    </dependency>
  </dependencies>
</project>
"#;

const GRADLE: &str = r#"
task vm { doLast { println "runs on: " + System.getProperty("java.vm.name") } }
"#;

const ANT: &str = r#"<project default="run">
  <target name="run">
    <mkdir dir="classes"/>
    <javac srcdir="src" destdir="classes" includeantruntime="false"/>
    <echo>runs on: ${java.vm.name}</echo>
    <java classname="Tiny" classpath="classes" fork="true" failonerror="true"/>
  </target>
</project>
"#;

const SERVER: &str = r#"<Server port="STOP" address="127.0.0.1" shutdown="SHUTDOWN">
  <Service name="Catalina">
    <Connector port="WEB" address="127.0.0.1"/>
    <Engine name="Catalina" defaultHost="localhost">
      <Host name="localhost" appBase="webapps"/>
    </Engine>
  </Service>
</Server>
"#;

const PAGE: &str = "runs on: <%= System.getProperty(\"java.vm.name\") %>\n";

const JOB: &str = r#"
import java.util.ArrayList;
import java.util.List;
import java.util.TreeSet;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

public class Job {
    static String vm() {
        long process = ProcessHandle.current().pid();
        return "runs on: " + System.getProperty("java.vm.name") + " " + process;
    }

    public static void main(String[] args) {
        List<Integer> numbers = new ArrayList<>();
        for (int i = 0; i < 1000; i++) {
            numbers.add(i);
        }
        try (var context = new JavaSparkContext(new SparkConf().setAppName("vms"))) {
            int sum = context.parallelize(numbers, 4).map(i -> i * 2).reduce(Integer::sum);
            System.out.println("sum " + sum);
            var vms = new TreeSet<>(context.parallelize(numbers, 8).map(i -> {
                Thread.sleep(2);
                return vm();
            }).collect());
            vms.add(vm());
            vms.forEach(System.out::println);
        }
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_a_program_must_run_on_our_vm() {
        let lines = |texts: &[&str]| texts.iter().map(|text| text.to_string()).collect::<Vec<_>>();
        let ours = said("x runs on: Farheap 64-Bit Server VM\nother\n");
        assert_eq!(ours, ["Farheap 64-Bit Server VM"]);
        assert_eq!(judge(&ours, 2, 2), Ok(()));
        assert!(judge(&ours, 1, 2).unwrap_err().contains("2 were expected"));
        assert!(judge(&[], 2, 2).is_err());
        let mixed = lines(&["Farheap 64-Bit Server VM", "OpenJDK 64-Bit Server VM"]);
        assert!(judge(&mixed, 2, 2).unwrap_err().contains("OpenJDK"));
    }
}
