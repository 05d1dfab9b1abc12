//! The pages of `docs/reference` agree with the programs. Those that are made from tables of options are compared by
//! the tests of `vm`.
//!
//! Needs the release programs beside the test runner's folder (`make build`) and a JDK.

#[path = "support/programs.rs"]
mod programs;

use bench::harness::scratch::Scratch;
use bench::java::jdk::Jdk;
use programs::program;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Does what its first argument says.
const CODES: &str = r#"
import java.util.ArrayList;
import java.util.List;

public class Codes {
    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "exit" -> System.exit(Integer.parseInt(args[1]));
            case "throw" -> throw new IllegalStateException("as asked");
            case "fill" -> {
                List<byte[]> kept = new ArrayList<>();
                while (true) {
                    kept.add(new byte[1 << 16]);
                }
            }
            case "TERM" -> {
                String me = Long.toString(ProcessHandle.current().pid());
                new ProcessBuilder("kill", "-TERM", me).start().waitFor();
                Thread.sleep(60_000);
            }
            case "collect" -> {
                Object[] kept = new Object[1 << 12];
                for (int i = 0; i < 400_000; i++) {
                    kept[i * 31 & kept.length - 1] = new Object[] {kept[i & kept.length - 1 & ~7], new byte[40]};
                    if (i % 20_000 == 0) {
                        System.gc();
                        java.util.Arrays.fill(kept, i / 20_000 * 128, i / 20_000 * 128 + 128, null);
                    }
                }
            }
            default -> { }
        }
    }
}
"#;

/// A folder with the class `Codes`.
fn classes(scratch: &Scratch) -> PathBuf {
    let classes = scratch.folder("classes").unwrap();
    Jdk::find().unwrap().compile_text("Codes", CODES, &classes).unwrap();
    classes
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join("docs/reference").join(name)).unwrap()
}

/// The cells of all rows of tables, heads included.
fn rows(page: &str) -> impl Iterator<Item = Vec<&str>> {
    let rows = page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|---"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
}

/// What stands between backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// The source files of these folders, joined.
fn sources(folders: &[&str]) -> String {
    let mut text = String::new();
    let mut pending: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    while let Some(folder) = pending.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text += &std::fs::read_to_string(&path).unwrap();
            }
        }
    }
    text
}

/// The paths of keys in an object, without the names that a run chooses: pauses, and entries of lists.
fn keys(value: &serde_json::Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                let key = if path == "heap.pause_totals" { "*" } else { key };
                let path = if path.is_empty() { key.into() } else { format!("{path}.{key}") };
                keys(value, &path, found);
            }
        }
        serde_json::Value::Array(list) => list.iter().for_each(|value| keys(value, path, found)),
        _ => _ = found.insert(path.into()),
    }
}

#[test]
fn every_counter_is_in_the_reference_and_the_other_way_round() {
    let page = page("counters.md");
    let known: BTreeSet<&str> = quoted(&page).collect();
    let scratch = Scratch::new("reference-counters").unwrap();
    let classes = classes(&scratch);
    let mut found = BTreeSet::new();
    let collectors = "epsilon serial g1 shenandoah semeru mako memliner-g1 memliner-shenandoah";
    for collector in collectors.split(' ') {
        let heap = if collector == "epsilon" { "-Xmx128m" } else { "-Xmx32m" };
        let file = scratch.path().join(format!("{collector}.json"));
        let mut command = Command::new(program("vm"));
        command.args(["run", "--gc", collector, heap, "--local-memory", "25%", "--stats"]);
        command.arg(&file).arg("-cp").arg(&classes).args(["Codes", "collect"]);
        let output = command.output().unwrap();
        assert!(output.status.success(), "{collector}: {output:?}");
        let text = std::fs::read_to_string(&file).unwrap();
        keys(&serde_json::from_str(&text).unwrap(), "", &mut found);
    }
    // A key is on the page by its whole path, or by the last words of it below the path of its map.
    let is_known = |path: &&String| {
        let words: Vec<&str> = path.split('.').collect();
        (0..words.len()).any(|at| known.contains(&*words[at..].join(".")))
            || words.last() == Some(&"*")
    };
    let missing: Vec<&String> = found.iter().filter(|path| !is_known(path)).collect();
    assert!(missing.is_empty(), "not in docs/reference/counters.md: {missing:?}");
    assert!(found.len() > 100, "{} counters: did the collectors work?", found.len());

    let sources = sources(&["gc/src", "swap/src", "vm/src"]);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words: BTreeSet<&str> = sources.split(|c| !is_word(c)).collect();
    let is_name = |name: &&str| name.contains('_') && name.chars().all(|c| is_word(c) || c == '.');
    let stale: Vec<&str> = quoted(&page)
        .filter(is_name)
        .flat_map(|path| path.split('.'))
        .filter(|word| !words.contains(word))
        .collect();
    assert!(stale.is_empty(), "in docs/reference/counters.md, but in no source: {stale:?}");
}

#[test]
fn log_tags_are_those_of_the_sources() {
    let page = page("log-tags.md");
    let first = |row: Vec<&str>| quoted(row[0]).next().map(|tags| tags.replace('+', ","));
    let known: BTreeSet<String> = rows(&page).filter_map(first).collect();
    let sources = sources(&["gc/src", "vm/src"]);
    let is_tags = |text: &str| text.chars().all(|c| c.is_ascii_lowercase() || c == ',');
    // `LogLevel::Info, "gc,start"`, on one line or two, and `tags: "class,load"`.
    let mut found = BTreeSet::new();
    for rest in sources.split("LogLevel::").skip(1) {
        let rest = rest.trim_start_matches(|c: char| c.is_alphanumeric());
        let Some(rest) = rest.strip_prefix(',') else { continue };
        if let Some(text) = rest.trim_start().strip_prefix('"') {
            found.extend(text.split('"').next().filter(|text| is_tags(text)).map(String::from));
        }
    }
    for rest in sources.split("tags: \"").skip(1) {
        found.extend(rest.split('"').next().filter(|text| is_tags(text)).map(String::from));
    }
    // The flight recorder's, which the class library knows by number.
    for rest in sources.split("const TAGS: &[&str] = &[").skip(1) {
        let list = rest.split(']').next().unwrap_or_default();
        found.extend(list.split('"').skip(1).step_by(2).map(String::from));
    }
    assert_eq!(found, known, "sources on the left, docs/reference/log-tags.md on the right");
    // What `-Xlog` accepts without a warning.
    let sets = jvm::options::log::tags::SETS.iter().map(|tags| tags.to_string());
    assert_eq!(known, sets.collect());
}

#[test]
fn exit_codes_are_those_of_the_reference() {
    let page = page("exit-codes.md");
    let scratch = Scratch::new("reference-codes").unwrap();
    let classes = classes(&scratch);
    let mut examples = 0;
    for row in rows(&page) {
        let [codes, _, example] = row[..] else { panic!("{row:?}") };
        let Some(example) = quoted(example).next() else { continue };
        let mut words = example.split(' ');
        let mut command = Command::new(program(words.next().unwrap()));
        command.args(words).current_dir(&classes).stdin(Stdio::null());
        let output = command.output().unwrap();
        let code = output.status.code();
        let expected = match (codes, example) {
            ("N", _) if example.ends_with("exit 7") => "7",
            ("N", _) => "1",
            ("129, 130, 143", _) => "143",
            (code, _) => code,
        };
        // A process that aborts has no code; a shell reports 128 and the signal's number.
        let signal = std::os::unix::process::ExitStatusExt::signal(&output.status);
        let code = code.or(signal.map(|signal| 128 + signal));
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            code.map(|code| code.to_string()).as_deref(),
            Some(expected),
            "{example}: {err}"
        );
        examples += 1;
    }
    assert!(examples > 10, "{examples} examples");
}
