//! Every option of the tables, with the least and the largest value that its range allows and with its switch the other
//! way round: a program that allocates ends with its result, or with an error that it understands.
//!
//! Needs the release `vm` and `memory-server` beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use base::options::Row;
use bench::harness::process::{self, End};
use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use bench::java::vm::{Setting, Vm};
use jvm::options::Options;
use programs::program;
use std::path::Path;
use std::time::Duration;

/// Lists of lists of which few live: several cycles in a heap of 32 MB.
const CHURN: &str = r#"
import java.lang.ref.SoftReference;
import java.util.HashMap;
import java.util.Map;

public class Churn {
    public static void main(String[] args) throws Exception {
        Map<Integer, Object[]> live = new HashMap<>();
        SoftReference<byte[]> soft = new SoftReference<>(new byte[1 << 16]);
        Thread other = new Thread(() -> fill(new HashMap<>(), 7));
        other.start();
        fill(live, 3);
        other.join();
        int sum = 0;
        for (Object[] list : live.values()) {
            for (Object each : list) {
                sum += ((int[]) each)[0];
            }
        }
        if (soft.get() != null && soft.get().length != 1 << 16) {
            throw new AssertionError();
        }
        System.out.println("sum " + sum);
    }

    static void fill(Map<Integer, Object[]> live, int seed) {
        for (int i = 0; i < 2500; i++) {
            Object[] list = new Object[50];
            for (int k = 0; k < list.length; k++) {
                list[k] = new int[] { i * seed + k, k, i };
            }
            live.put(i % 200, list);
        }
    }
}
"#;

#[test]
fn every_option_works_at_the_ends_of_its_range() {
    let (jdk, classes) = (Jdk::find().unwrap(), Scratch::new("options").unwrap());
    jdk.compile_text("Churn", CHURN, classes.path()).unwrap();
    let vm = Vm::find(Some(program("vm"))).unwrap();
    let mut wrong = Vec::new();
    for (title, row) in rows() {
        for argument in values(&row) {
            for gc in collectors(title) {
                if let Err(why) = run(&vm, &jdk, classes.path(), gc, &argument) {
                    wrong.push(format!("--gc {gc} {argument}: {why}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// All rows, with the titles of their tables.
fn rows() -> Vec<(&'static str, Row)> {
    let options = Options::default();
    let of = |table: &&dyn base::options::OptionGroup| (table.title(), table.rows());
    let tables: Vec<_> = options.groups().iter().map(of).collect();
    let rows =
        |(title, rows): (&'static str, Vec<Row>)| rows.into_iter().map(move |row| (title, row));
    tables.into_iter().flat_map(rows).collect()
}

/// The values of a row that are tried: none of rows whose values are words and addresses, which have tests of their
/// own.
fn values(row: &Row) -> Vec<String> {
    let name = row.name;
    // One writes outside of the test's folder. The other needs a pool: `memory_pool.rs` tries it.
    if ["DumpPerfMapAtExit", "MemoryPoolSize"].contains(&name) {
        return Vec::new();
    }
    match (row.form, &row.range) {
        ("", _) => vec![row.usage()],
        (_, Some(range)) => [range.start(), range.end()].map(|n| format!("-XX:{name}={n}")).into(),
        ("<n>" | "<percent>" | "<ms>", None) => vec![format!("-XX:{name}=1000")],
        _ => Vec::new(),
    }
}

/// For which collectors a table is.
fn collectors(title: &str) -> &'static [&'static str] {
    match title {
        "g1" => &["g1"],
        "semeru" => &["semeru"],
        "shenandoah" => &["shenandoah"],
        "mako" => &["mako"],
        "memliner" => &["memliner-g1", "memliner-shenandoah"],
        "heap" => &["g1", "mako"],
        _ => &["serial"],
    }
}

fn run(vm: &Vm, jdk: &Jdk, classes: &Path, gc: &str, argument: &str) -> Result<(), String> {
    let setting = Setting {
        collector: gc.into(),
        local_memory: "8m".into(),
        memory_servers: 2,
        options: options(argument),
    };
    let mut command = vm.command(&setting, jdk);
    command.arg("-cp").arg(classes).arg("Churn");
    let folder = Scratch::new("options-run").unwrap();
    let run = process::run(command, folder.path(), b"", LIMIT).unwrap();
    let (said, errors) = (text(&run.stdout), text(&run.stderr));
    let is_refused = REFUSED.contains(&(gc, argument));
    let may_fail = is_refused || TOO_MUCH.contains(&argument);
    match run.end {
        // Output that the option asks for surrounds the program's result.
        End::Exit(0) if !is_refused && said.contains(&expected()) => Ok(()),
        End::Exit(1) if may_fail && errors.contains("initialization of VM") => Ok(()),
        end => Err(format!("{end}: {said}{errors}")),
    }
}

fn options(argument: &str) -> Vec<String> {
    let unlock = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions"];
    let mut options = vec!["-Xmx32m"];
    options.extend(unlock);
    // It means nothing without a second copy of each page.
    if argument.starts_with("-XX:LostServerTimeout=") {
        options.push("-XX:Replicas=2");
    }
    // Neither may contradict the other.
    match argument {
        "-XX:G1NewSizePercent=100" => options.push("-XX:G1MaxNewSizePercent=100"),
        "-XX:G1MaxNewSizePercent=0" => options.push("-XX:G1NewSizePercent=0"),
        _ => {}
    }
    options.push(argument);
    options.into_iter().map(str::to_string).collect()
}

/// More than fits into this heap, or starts in it.
const TOO_MUCH: &[&str] = &["-XX:RegionSize=1073741824", "-XX:MemoryServers=64"];

/// Collectors that refuse an end of the range, as in HotSpot.
const REFUSED: &[(&str, &str)] = &[("g1", "-XX:ParallelGCThreads=0")];

/// The program's output: the numbers of the last 200 lists.
fn expected() -> String {
    let sum: i32 = (2300..2500).flat_map(|i| (0..50).map(move |k| i * 3 + k)).sum();
    format!("sum {sum}\n")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const LIMIT: Duration = Duration::from_secs(60);
