//! `javac` inside our VM: compiles all of `workloads/` and compares every class file, byte for
//! byte, with the one that the JDK's own VM makes of the same source.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::harness::process::{self, End, Run};
use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::{Setting, Vm};

/// Compile all workloads with javac inside our VM; class files must equal those of the JDK's VM
#[derive(Args)]
pub struct Options {
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// The folder of the sources
    #[arg(long, default_value = "workloads")]
    sources: PathBuf,
    /// COLLECTOR:LOCAL-MEMORY (repeat for several)
    #[arg(long, value_delimiter = ',', default_value = "serial:100%,mako:25%")]
    setting: Vec<String>,
    #[arg(long, default_value_t = 2)]
    memory_servers: u32,
    #[arg(long, default_value = "256m")]
    heap: String,
    /// More options for our VM (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
    /// Time limit of one compilation, in seconds
    #[arg(long, default_value_t = 1800)]
    timeout: u64,
}

/// Relative path to content.
type Classes = BTreeMap<String, Vec<u8>>;

/// Compiles everything under each setting; true if all class files are the JDK's.
pub fn run(options: &Options) -> io::Result<bool> {
    let jdk = Jdk::find()?;
    let vm = Vm::find(options.vm.clone())?;
    let sources = jdk::own_sources(&options.sources.canonicalize()?)?;
    let (run, expected) = compile(jdk.java(), &sources, options)?;
    if run.end != End::Exit(0) || expected.is_empty() {
        let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
        return Err(io::Error::other(format!("the JDK's javac: {}\n{stderr}", run.end)));
    }
    println!("{} sources, {} class files", sources.len(), expected.len());
    println!("{:24} {:6.1} s", "the JDK's VM", run.wall.as_secs_f64());
    let mut fine = true;
    for text in &options.setting {
        let setting = parse_setting(text, options)?;
        let (run, actual) = compile(vm.command(&setting, &jdk), &sources, options)?;
        let differences = differences(&expected, &actual);
        let verdict = if run.end != End::Exit(0) {
            run.end.to_string()
        } else if differences.is_empty() {
            "identical".to_string()
        } else {
            format!("{} class files differ", differences.len())
        };
        println!("{:24} {:6.1} s  {verdict}", setting.to_string(), run.wall.as_secs_f64());
        if verdict != "identical" {
            fine = false;
            let stderr = String::from_utf8_lossy(&run.stderr).into_owned();
            stderr.lines().take(12).for_each(|line| println!("  stderr: {line}"));
            differences.iter().take(12).for_each(|name| println!("  {name}"));
        }
    }
    Ok(fine)
}

fn parse_setting(text: &str, options: &Options) -> io::Result<Setting> {
    let (collector, local_memory) = text
        .split_once(':')
        .ok_or_else(|| io::Error::other(format!("not COLLECTOR:LOCAL-MEMORY: {text}")))?;
    Ok(Setting {
        collector: collector.to_string(),
        local_memory: local_memory.to_string(),
        memory_servers: options.memory_servers,
        options: options.vm_option.clone(),
    })
}

/// Runs the compiler's module on `command`, a VM with its own options.
fn compile(
    mut command: Command,
    sources: &[PathBuf],
    options: &Options,
) -> io::Result<(Run, Classes)> {
    let scratch = Scratch::new("javac")?;
    let classes = scratch.folder("classes")?;
    command.arg(format!("-Xmx{}", options.heap));
    command.args(["-m", "jdk.compiler/com.sun.tools.javac.Main", "-nowarn", "-d"]);
    command.arg(&classes).args(sources);
    let run = process::run(command, scratch.path(), b"", Duration::from_secs(options.timeout))?;
    let mut found = Classes::new();
    collect(&classes, &classes, &mut found)?;
    Ok((run, found))
}

fn collect(root: &Path, folder: &Path, found: &mut Classes) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, found)?;
        } else {
            let name = path.strip_prefix(root).expect("it was found there").display().to_string();
            found.insert(name, std::fs::read(&path)?);
        }
    }
    Ok(())
}

/// Names of files that are missing, surplus, or not the same.
fn differences(expected: &Classes, actual: &Classes) -> Vec<String> {
    let surplus = actual.keys().filter(|name| !expected.contains_key(*name));
    let mut names: Vec<String> = surplus.map(|name| format!("{name}: surplus")).collect();
    for (name, bytes) in expected {
        match actual.get(name) {
            None => names.push(format!("{name}: missing")),
            Some(other) if other != bytes => names.push(format!("{name}: differs")),
            Some(_) => {}
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_difference_is_named() {
        let classes = |pairs: &[(&str, u8)]| -> Classes {
            pairs.iter().map(|(name, byte)| (name.to_string(), vec![*byte])).collect()
        };
        let expected = classes(&[("A", 1), ("B", 2), ("C", 3)]);
        let actual = classes(&[("A", 1), ("B", 9), ("D", 4)]);
        assert_eq!(differences(&expected, &actual), ["D: surplus", "B: differs", "C: missing"]);
        assert!(differences(&expected, &expected).is_empty());
    }
}
