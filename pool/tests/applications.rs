//! Short runs of the applications among the examples. They check what they have done, and fail if it is wrong.

use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// What an example prints that ran with these arguments.
fn run(example: &str, arguments: &[&str]) -> String {
    let test = env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples").join(example);
    assert!(program.is_file(), "{} is not built: `cargo build --examples`", program.display());
    let said = Command::new(program).args(arguments).output().unwrap();
    let [out, err] = [said.stdout, said.stderr].map(|text| String::from_utf8(text).unwrap());
    assert!(said.status.success() && err.is_empty(), "{example} {}:\n{out}\n{err}", said.status);
    out
}

/// The number in front of a word.
fn number(line: &str, of: &str) -> u64 {
    let words: Vec<_> = line.split([' ', ',']).collect();
    let at = words.iter().position(|word| *word == of).unwrap_or_else(|| panic!("{line}"));
    words[at - 1].parse().unwrap()
}

#[test]
fn a_store_keeps_its_rows_whole_under_all_loads() {
    let out = run("kv_bench", &["0.1", "0.01"]);
    for load in ["YCSB A", "YCSB B", "YCSB C", "YCSB D", "TATP", "SmallBank"] {
        for clients in [1, 2] {
            let row = format!("{load:18} {clients:6} ");
            let row = out.lines().find_map(|line| line.strip_prefix(&row)).unwrap_or_else(|| {
                panic!("no row for {load} with {clients}:\n{out}");
            });
            let figures: Vec<f64> =
                row.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert!(figures.len() == 10 && figures[0] > 0.0 && figures[5] > 0.0, "{row}");
        }
    }
    let kills = out.lines().find(|line| line.contains("kills")).expect("a line for the killed");
    assert!(number(kills, "kills") >= 2, "{kills}");
}

#[test]
fn calls_by_reference_come_to_the_result_of_a_sequential_program() {
    let out = run("rpc_apps", &["0.2", "0.1"]);
    for job in ["word count", "k-means"] {
        assert!(out.lines().any(|line| line.starts_with(job)), "no row for {job}:\n{out}");
    }
    let killed: Vec<_> = out.lines().filter(|line| line.contains("kills")).collect();
    assert_eq!(killed.len(), 2, "{out}");
    for line in killed {
        let [kills, redone, returned] =
            ["kills", "redone", "returned"].map(|word| number(line, word));
        assert!(kills >= 2 && redone + returned >= kills, "{line}");
    }
}

#[test]
fn messages_and_calls_are_measured_beside_iceoryx2_which_leaves_no_files() {
    let test = env::current_exe().unwrap();
    let program = test.parent().unwrap().parent().unwrap().join("examples/refs_bench");
    for (name, rows) in [("a word", 1), ("send", 2), ("message", 2), ("call", 2)] {
        let mut command = Command::new(&program);
        let child = command.args(["0.02", name]).stdout(Stdio::piped()).spawn().unwrap();
        let files = format!("farheap-refs-bench-{}", child.id());
        let said = child.wait_with_output().unwrap();
        let out = String::from_utf8(said.stdout).unwrap();
        assert!(said.status.success(), "{name}:\n{out}");
        let found: Vec<_> = out.lines().filter(|line| line.starts_with(name)).collect();
        assert_eq!(found.len(), rows, "{out}");
        assert!(found.iter().all(|row| name == "a word" || row.contains("iceoryx2")), "{out}");
        for folder in [Path::new("/dev/shm"), &env::temp_dir()] {
            let left = fs::read_dir(folder).into_iter().flatten().flatten();
            let left = left.map(|file| file.file_name().into_string().unwrap());
            let left: Vec<_> = left.filter(|file| file.starts_with(&files)).collect();
            assert!(left.is_empty(), "{name} leaves {left:?} in {}", folder.display());
        }
    }
}
