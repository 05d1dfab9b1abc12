//! Memory and CPUs that this process may use: those of the machine, or less in a container.

use crate::container::Container;
use std::fs;
use std::path::{Path, PathBuf};

/// Where amounts are read. Any thread; nothing blocks.
#[derive(Clone, Debug)]
pub struct Resources {
    root: PathBuf,
    container: Option<Container>,
}

impl Resources {
    /// Of this process. `in_container`: the limits of its cgroups count (HotSpot's `UseContainerSupport`).
    pub fn of_this_process(in_container: bool) -> Resources {
        Resources::below(Path::new("/"), in_container)
    }

    fn below(root: &Path, in_container: bool) -> Resources {
        let container = in_container.then(|| Container::below(root));
        Resources { root: root.into(), container }
    }

    /// Bytes of memory: the least of the machine's and of the container's limit. 0 if the system does not say.
    pub fn memory_bytes(&self) -> u64 {
        let machine = self.field("meminfo", "MemTotal:").and_then(|text| {
            let kib: u64 = text.strip_suffix("kB")?.trim().parse().ok()?;
            Some(kib << 10)
        });
        let limit = self.container.as_ref().and_then(Container::memory_limit);
        machine.into_iter().chain(limit.map(|limit| limit.bytes)).min().unwrap_or(0)
    }

    /// CPUs, at least 1: those that the process may run on, or fewer by the container's quota.
    pub fn cpus(&self) -> usize {
        let allowed = self.field("self/status", "Cpus_allowed_list:");
        let allowed = allowed.and_then(|list| count(&list)).unwrap_or(1);
        let quota = self.container.as_ref().and_then(Container::cpus);
        quota.map_or(allowed, |quota| quota.min(allowed)).max(1)
    }

    /// What was found, for logs.
    pub fn describe(&self) -> Vec<String> {
        let mut lines = self.container.as_ref().map(Container::describe).unwrap_or_default();
        lines.push(format!("Memory {} bytes, {} CPUs", self.memory_bytes(), self.cpus()));
        lines
    }

    /// The text behind a name in a file below `/proc`.
    fn field(&self, file: &str, name: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join("proc").join(file)).ok()?;
        text.lines().find_map(|line| line.strip_prefix(name)).map(|text| text.trim().to_string())
    }
}

/// How many numbers a list such as `0-3,8` has.
fn count(list: &str) -> Option<usize> {
    let length = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        Some(last.checked_sub(first)? + 1)
    };
    list.split(',').map(length).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_counted() {
        assert_eq!((count("0"), count("0-1"), count("0-3,8,10-11")), (Some(1), Some(2), Some(7)));
        assert_eq!((count(""), count("3-1"), count("a-b")), (None, None, None));
    }

    #[test]
    fn a_container_never_has_more_than_the_machine() {
        let (machine, limited) =
            (Resources::of_this_process(false), Resources::of_this_process(true));
        assert!(machine.memory_bytes() > 1 << 20 && machine.cpus() >= 1);
        assert!(
            limited.memory_bytes() <= machine.memory_bytes() && limited.cpus() <= machine.cpus()
        );
        assert!(limited.describe().len() >= 3 && machine.describe().len() == 1);
    }

    #[test]
    fn without_proc_there_is_one_cpu_and_no_memory_is_known() {
        let nothing = Resources::below(Path::new("/nowhere"), true);
        assert_eq!((nothing.memory_bytes(), nothing.cpus()), (0, 1));
    }
}
