//! The machine of a measurement; it is stored with every row.

use std::path::Path;
use std::process::Command;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    pub processor: String,
    pub cores: usize,
    pub memory_bytes: u64,
    pub kernel: String,
}

impl Machine {
    /// This one. A property that cannot be read is empty or 0.
    pub fn this() -> Machine {
        let read = |path| std::fs::read_to_string(path).unwrap_or_default();
        let processor = value(&read("/proc/cpuinfo"), "model name");
        let memory = value(&read("/proc/meminfo"), "MemTotal");
        let kilobytes = memory.split_whitespace().next().and_then(|n| n.parse::<u64>().ok());
        Machine {
            processor,
            cores: std::thread::available_parallelism().map_or(0, |n| n.get()),
            memory_bytes: kilobytes.unwrap_or(0) << 10,
            kernel: read("/proc/sys/kernel/osrelease").trim().to_string(),
        }
    }
}

/// The commit of the working tree around `folder`, with `+` if something is changed there; empty where there is none.
pub fn commit(folder: &Path) -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).current_dir(folder).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let Some(commit) = git(&["rev-parse", "--short=12", "HEAD"]) else { return String::new() };
    match git(&["status", "--porcelain", "--untracked-files=no"]) {
        Some(changes) if changes.is_empty() => commit,
        _ => commit + "+",
    }
}

/// The value after the colon in the first line that begins with `key`.
fn value(text: &str, key: &str) -> String {
    let line = text.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_cores_and_memory() {
        let machine = Machine::this();
        assert!(machine.cores > 0 && machine.memory_bytes > 1 << 26, "{machine:?}");
        assert!(!machine.kernel.is_empty());
    }

    #[test]
    fn a_folder_without_a_repository_has_no_commit() {
        assert_eq!(commit(Path::new("/proc")), "");
    }
}
