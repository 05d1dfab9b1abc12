//! The same verdict as the JDK's own VM on damaged classes: the same error, to the letter.

use super::tests::World;
use super::{Failure, may_fall_back};
use crate::symbol::Symbol;
use crate::tests::Random;
use crate::{ClassFile, ParseOptions, jdk_image};
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn says_what_java_says() {
    let Some(image) = jdk_image::open() else { return };
    let Some(java) = jdk_image::home().filter(|home| home.join("bin/javac").exists()) else {
        eprintln!("skipped: the JDK has no compiler");
        return;
    };
    let folder = std::env::temp_dir().join(format!("verifier-{}", std::process::id()));
    let classes = compile(&java, &folder);
    let mut world = World::default();
    jdk_image::for_each_class(&image, |module, name, bytes| {
        if module == "java.base" {
            world.add(&ClassFile::parse(bytes, &ParseOptions::default()).expect(name));
        }
    });
    for (name, bytes) in &classes {
        world.add(&ClassFile::parse(bytes, &ParseOptions::default()).expect(name));
    }
    let mut random = Random::from_environment();
    let mut cases = Vec::new();
    for round in 0..random.rounds {
        let (name, mut bytes) = classes[round % classes.len()].clone();
        match round % 4 {
            0 => random.damage(&mut bytes),
            _ => damage_code(&mut random, &mut bytes),
        }
        cases.push((name, bytes));
    }
    let theirs = judge(&java, &folder, &cases);
    let mut different = 0;
    for (index, ((name, bytes), theirs)) in cases.iter().zip(&theirs).enumerate() {
        let Some(ours) = verdict(&mut world, name, bytes) else { continue };
        let (ours, theirs) = (without_bad_map(&ours), without_bad_map(theirs));
        // The order in which methods are verified is by chance.
        let is_elsewhere = location(ours) != location(theirs);
        if ours != theirs && !is_elsewhere && is_comparable(ours, theirs) {
            different += 1;
            eprintln!("case {index}, {name}\n  java: {theirs}\n  ours: {ours}");
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    assert_eq!(different, 0, "of {} verdicts", cases.len());
}

/// Changes one or two bytes of a method's instructions or of its stack map.
pub fn damage_code(random: &mut Random, bytes: &mut [u8]) {
    let class = ClassFile::parse(bytes, &ParseOptions::default()).expect("undamaged");
    let codes: Vec<_> = class.methods.iter().filter_map(|method| method.code.as_ref()).collect();
    if codes.is_empty() {
        return;
    }
    let code = codes[random.below(codes.len())];
    let part = match &code.stack_map_table {
        Some(table) if random.below(3) == 0 => table,
        _ => &code.bytecode,
    };
    // Another method with the same bytes does as well.
    let start = bytes.windows(part.len()).position(|window| *window == **part).expect("its bytes");
    for _ in 0..=random.below(2) {
        let at = start + random.below(part.len());
        bytes[at] = match random.below(3) {
            0 => random.below(202) as u8,
            1 => bytes[at] ^ 1 << random.below(3),
            _ => random.below(24) as u8,
        };
    }
}

/// HotSpot prints the memory behind a table that is too short.
fn without_bad_map(verdict: &str) -> &str {
    if verdict.contains("Invalid stackmap specification") {
        return verdict.split_once("  Stackmap Table:").map_or(verdict, |(before, _)| before);
    }
    verdict
}

/// Class, method and descriptor that a `VerifyError` is about.
fn location(verdict: &str) -> Option<&str> {
    let (_, behind) = verdict.split_once("Location:\\n")?;
    Some(behind.split_once(" @")?.0)
}

/// Other errors come from loading and linking, which the parser and verifier have no part in.
fn is_comparable(ours: &str, theirs: &str) -> bool {
    let is_checked = |verdict: &str| {
        ["java/lang/ClassFormatError", "java/lang/VerifyError", "java/lang/UnsupportedClassVersion"]
            .iter()
            .any(|prefix| verdict.starts_with(prefix))
    };
    // Another order of methods finds something else first.
    if ours.starts_with("java/lang/NoClassDefFoundError") && !ours.contains("wrong name") {
        return false;
    }
    // HotSpot also knows the opcodes that its interpreter rewrites code to.
    let has_unknown_opcode = ours.contains(": <illegal>");
    !has_unknown_opcode && (is_checked(theirs) || is_checked(ours) && theirs == "ok")
}

/// `None` for classes that inference decides about.
fn verdict(world: &mut World, name: &str, bytes: &[u8]) -> Option<String> {
    let expected_name = Some(Symbol::of(name));
    let options = ParseOptions { expected_name, ..ParseOptions::default() };
    let class = match ClassFile::parse(bytes, &options) {
        Ok(class) => class,
        Err(error) => return Some(escape(&error.to_string())),
    };
    if may_fall_back(class.major_version) {
        return None;
    }
    Some(match world.verify(&class) {
        Ok(()) => "ok".to_string(),
        Err(Failure::Rejected(error)) => escape(&error.to_string()),
        Err(Failure::Hierarchy(error)) => escape(&error),
    })
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

/// Compiles the samples; the classes of `Sample` by internal name.
fn compile(java: &Path, folder: &Path) -> Vec<(String, Vec<u8>)> {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/verifier/samples");
    std::fs::create_dir_all(folder).expect("a temporary folder");
    let status = Command::new(java.join("bin/javac"))
        .args(["-g", "-d"])
        .arg(folder)
        .args([samples.join("Sample.java"), samples.join("Judge.java")])
        .status();
    assert!(status.expect("javac starts").success());
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder.join("sample"))
        .expect("compiled classes")
        .map(|entry| entry.expect("a readable entry").path())
        .collect();
    files.sort();
    let class = |file: PathBuf| {
        let stem = file.file_stem().expect("a file name").to_string_lossy().into_owned();
        (format!("sample/{stem}"), std::fs::read(&file).expect("a readable class"))
    };
    files.into_iter().map(class).collect()
}

fn judge(java: &Path, folder: &Path, cases: &[(String, Vec<u8>)]) -> Vec<String> {
    let mut input = Vec::new();
    for (name, bytes) in cases {
        input.extend((name.len() as u16).to_be_bytes());
        input.extend(name.replace('/', ".").bytes());
        input.extend((bytes.len() as u32).to_be_bytes());
        input.extend(bytes);
    }
    let (cases_file, verdicts_file) = (folder.join("cases"), folder.join("verdicts"));
    std::fs::write(&cases_file, input).expect("a writable folder");
    let status = Command::new(java.join("bin/java"))
        .args(["-Xshare:auto", "-XX:TieredStopAtLevel=1", "-cp"])
        .args([folder, Path::new("Judge")])
        .args([&cases_file, &folder.to_path_buf(), &verdicts_file])
        .status();
    assert!(status.expect("java starts").success());
    let verdicts = std::fs::read(&verdicts_file).expect("verdicts");
    let verdicts = String::from_utf8_lossy(&verdicts);
    let lines: Vec<String> = verdicts.lines().map(str::to_string).collect();
    assert_eq!(lines.len(), cases.len());
    lines
}
