//! The files of a collector: every folder reads the same.

use super::files;
use std::collections::BTreeMap;

/// In this order: the essay; stores and loads of the program; a collection from its beginning to its end; when to
/// collect, and which regions; the agents on memory servers.
const FILES: &[&str] = &["mod.rs", "barriers.rs", "cycle.rs", "policy.rs", "remote.rs"];

/// Files that a folder does without, and why.
const WITHOUT: &[(&str, &str, &str)] = &[
    ("epsilon", "barriers.rs", "plain stores"),
    ("epsilon", "cycle.rs", "nothing is ever freed"),
    ("epsilon", "policy.rs", "nothing is ever freed"),
    ("epsilon", "remote.rs", "no agents"),
    (
        "g1",
        "cycle.rs",
        "there are pauses (collect.rs) and markings (marking.rs), each with a course of its own",
    ),
    ("g1", "remote.rs", "no agents; elsewhere.rs is the seam to those of Semeru"),
    ("memliner", "barriers.rs", "an addition to the barriers of two collectors (barrier.rs)"),
    (
        "memliner",
        "cycle.rs",
        "no collector of its own: it aligns the markings of g1 and shenandoah",
    ),
    ("memliner", "policy.rs", "those of g1 and shenandoah decide"),
    ("memliner", "remote.rs", "no agents"),
    ("semeru", "barriers.rs", "those of g1"),
    ("semeru", "cycle.rs", "the pauses and markings of g1"),
    ("semeru", "policy.rs", "that of g1, with another threshold"),
    ("serial", "barriers.rs", "plain stores"),
    ("serial", "remote.rs", "no agents"),
    ("shenandoah", "remote.rs", "no agents"),
];

#[test]
fn folders_of_collectors_have_the_standard_files() {
    let all = files(&[".rs"]);
    let names = all.iter().filter_map(|(name, _)| name.strip_prefix("gc/src/collectors/"));
    let wrong = irregular(names, WITHOUT);
    assert!(wrong.is_empty(), "folders of collectors: {wrong:#?}");
}

#[test]
fn a_planted_folder_without_the_files_is_found() {
    let whole = FILES.iter().map(|file| format!("whole/{file}"));
    let names: Vec<_> = whole
        .chain(["bare/mod.rs", "bare/inner/cycle.rs", "choose.rs"].map(String::from))
        .collect();
    let wrong = |without| irregular(names.iter().map(String::as_str), without);
    assert_eq!(
        wrong(&[]),
        ["barriers.rs", "cycle.rs", "policy.rs", "remote.rs"]
            .map(|file| format!("bare has no {file}"))
    );
    let listed =
        ["barriers.rs", "cycle.rs", "policy.rs", "remote.rs"].map(|file| ("bare", file, "bare"));
    assert_eq!(wrong(&listed), [""; 0]);
    let stale =
        [&listed[..], &[("whole", "cycle.rs", "planted"), ("gone", "mod.rs", "planted")]].concat();
    assert_eq!(
        wrong(&stale),
        ["whole/cycle.rs is listed as missing", "gone/mod.rs is listed as missing"]
    );
}

/// What is wrong with the folders in which these files are: names below the folder of all collectors.
fn irregular<'a>(
    names: impl Iterator<Item = &'a str>,
    without: &[(&str, &str, &str)],
) -> Vec<String> {
    let mut folders: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (folder, file) in names.filter_map(|name| name.split_once('/')) {
        folders.entry(folder).or_default().push(file);
    }
    let is_listed =
        |folder: &str, file: &str| without.iter().any(|one| (one.0, one.1) == (folder, file));
    let mut wrong = Vec::new();
    for (folder, files) in &folders {
        let missing = FILES.iter().filter(|file| !files.contains(file) && !is_listed(folder, file));
        wrong.extend(missing.map(|file| format!("{folder} has no {file}")));
    }
    let is_missing =
        |folder: &str, file: &str| folders.get(folder).is_some_and(|files| !files.contains(&file));
    let stale = without.iter().filter(|(folder, file, _)| !is_missing(folder, file));
    wrong.extend(stale.map(|(folder, file, _)| format!("{folder}/{file} is listed as missing")));
    wrong
}
