//! Our VM as the runners start it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::files;
use crate::java::jdk::{self, Jdk};

/// The VM's executable.
#[derive(Clone)]
pub struct Vm {
    path: PathBuf,
}

/// One way to run it: a collector and a share of local memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    pub collector: String,
    /// Of the heap, as `--local-memory` takes it: `25%`, `64m`.
    pub local_memory: String,
    pub memory_servers: u32,
    /// More options, put before the program's own.
    pub options: Vec<String>,
}

impl Setting {
    /// Whether it needs no memory server: its remote memory is in a pool, and its collector has no agents. The VM
    /// refuses a number of them then.
    pub fn has_no_servers(&self) -> bool {
        let is_in_pool = self.options.iter().any(|option| option.starts_with("-XX:MemoryPool="));
        is_in_pool && !WITH_AGENTS.contains(&self.collector.as_str())
    }
}

impl std::fmt::Display for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.collector, self.local_memory)?;
        self.options.iter().try_for_each(|option| write!(f, " {option}"))
    }
}

impl Vm {
    /// `path`, or the `vm` beside the running program.
    pub fn find(path: Option<PathBuf>) -> io::Result<Vm> {
        let path = match path {
            Some(path) => path,
            None => std::env::current_exe()?.with_file_name("vm"),
        };
        let path = path.canonicalize().map_err(|error| {
            io::Error::other(format!("no VM at {}: {error}; run `make build`", path.display()))
        })?;
        Ok(Vm { path })
    }

    /// The collectors that this VM has, as `vm collectors` names them: one per line, the name
    /// first. One that never frees memory cannot pass programs that fill the heap, and is left out.
    pub fn collectors(&self, jdk: &Jdk) -> io::Result<Vec<String>> {
        let output = jdk::plain(&self.path, jdk).arg("collectors").output()?;
        let text = String::from_utf8_lossy(&output.stdout);
        let names: Vec<String> = text
            .lines()
            .filter(|line| !line.contains(NEVER_FREES))
            .filter_map(|line| line.split_whitespace().next())
            .map(str::to_string)
            .collect();
        if !output.status.success() || names.is_empty() {
            return Err(io::Error::other("`vm collectors` names no collector"));
        }
        Ok(names)
    }

    /// `vm run` with the setting's options; the caller adds the program.
    pub fn command(&self, setting: &Setting, jdk: &Jdk) -> Command {
        let mut command = jdk::plain(&self.path, jdk);
        command.args(["run", "--gc", &setting.collector]);
        command.args(["--local-memory", &setting.local_memory]);
        if !setting.has_no_servers() {
            command.args(["--memory-servers", &setting.memory_servers.to_string()]);
        }
        command.args(&setting.options);
        command
    }

    /// Identifies this build.
    pub fn identity(&self) -> io::Result<String> {
        let beside = |name| self.path.with_file_name(name);
        files::identity(&[self.path.clone(), beside("libjvm.so"), beside("memory-server")])
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// The words of `vm collectors` for a collector that only allocates.
const NEVER_FREES: &str = "never frees memory";

/// The collectors that have agents, unless an option takes them away.
const WITH_AGENTS: [&str; 2] = ["mako", "semeru"];

#[cfg(test)]
mod tests {
    use super::WITH_AGENTS;
    use gc::options::{CollectorKind, HeapOptions};

    #[test]
    fn collectors_with_agents_are_those_of_the_vm() {
        for kind in CollectorKind::ALL {
            let has_agents = HeapOptions::new(*kind, 0).has_agents();
            assert_eq!(WITH_AGENTS.contains(&kind.name()), has_agents, "{}", kind.name());
        }
    }
}
