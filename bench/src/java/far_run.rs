//! HotSpot with its heap in far memory, as the runners start it.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::files;
use crate::java::jdk::{self, Jdk};
use crate::java::vm::Setting;

/// The executable `far-run`.
#[derive(Clone)]
pub struct FarRun {
    path: PathBuf,
}

/// The counters of a run under `far-run`.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Counted {
    /// The budget of the heap's pages.
    pub local_bytes: u64,
    /// The private resident memory of the process in addition, at its end.
    pub other_resident_bytes: u64,
    pub fetch_faults: u64,
    pub fetched_bytes: u64,
    pub written_bytes: u64,
}

impl FarRun {
    /// The `far-run` beside the running program.
    pub fn find() -> io::Result<FarRun> {
        FarRun::at(&std::env::current_exe()?.with_file_name("far-run"))
    }

    /// The one at `path`; its library must lie beside it.
    pub fn at(path: &Path) -> io::Result<FarRun> {
        let path = path.to_path_buf();
        let library = path.with_file_name(LIBRARY);
        match path.is_file() && library.is_file() {
            true => Ok(FarRun { path }),
            false => {
                Err(io::Error::other(format!("no far-run at {}; run `make build`", path.display())))
            }
        }
    }

    /// Identifies this build.
    pub fn identity(&self) -> io::Result<String> {
        files::identity(&[self.path.clone(), self.path.with_file_name(LIBRARY)])
    }

    /// HotSpot's collectors that run in far memory.
    pub fn collectors() -> impl Iterator<Item = &'static str> {
        COLLECTORS.iter().map(|(name, _)| *name)
    }

    /// Plain HotSpot with one of them.
    pub fn hotspot(jdk: &Jdk, collector: &str) -> io::Result<Command> {
        let mut command = jdk.java();
        command.arg(option(collector)?);
        Ok(command)
    }

    /// HotSpot with the setting's collector in far memory; the caller adds more of its options and
    /// the program. Counters go to `stats`.
    pub fn command(
        &self,
        setting: &Setting,
        jdk: &Jdk,
        stats: Option<&Path>,
    ) -> io::Result<Command> {
        let mut command = jdk::plain(&self.path, jdk);
        command.args(["--local-memory", &setting.local_memory]);
        command.args(["--memory-servers", &setting.memory_servers.to_string()]);
        command.args(&setting.options);
        if let Some(path) = stats {
            command.arg("--stats").arg(path);
        }
        command.arg("--").arg(jdk.home.join("bin/java")).arg(option(&setting.collector)?);
        Ok(command)
    }
}

impl Counted {
    /// From the file that `--stats` names. An error if no range was far memory.
    pub fn read(path: &Path) -> io::Result<Counted> {
        let wrong = || io::Error::other("the counters are not those of a remote heap");
        let text = std::fs::read_to_string(path)?;
        let json: serde_json::Value = serde_json::from_str(&text).map_err(|_| wrong())?;
        let range = json["ranges"].get(0).ok_or_else(wrong)?;
        let number = |value: &serde_json::Value| value.as_u64().ok_or_else(wrong);
        Ok(Counted {
            local_bytes: number(&range["local_bytes"])?,
            other_resident_bytes: number(&json["other_resident_bytes"])?,
            fetch_faults: number(&range["fetch_faults"])?,
            fetched_bytes: number(&range["fetched_bytes"])?,
            written_bytes: number(&range["written_bytes"])?,
        })
    }
}

fn option(collector: &str) -> io::Result<&'static str> {
    let found = COLLECTORS.iter().find(|(name, _)| *name == collector);
    found.map(|(_, option)| *option).ok_or_else(|| {
        io::Error::other(format!("HotSpot's {collector} does not run in remote memory"))
    })
}

/// The library that it preloads.
const LIBRARY: &str = "libfarheap_preload.so";

/// ZGC maps its heap several times, as shared memory, which the pager does not serve.
const COLLECTORS: [(&str, &str); 4] = [
    ("serial", "-XX:+UseSerialGC"),
    ("parallel", "-XX:+UseParallelGC"),
    ("g1", "-XX:+UseG1GC"),
    ("shenandoah", "-XX:+UseShenandoahGC"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    #[test]
    fn counters_are_read_and_their_absence_is_an_error() {
        let scratch = Scratch::new("counters").unwrap();
        let path = scratch.path().join("stats");
        let text = r#"{"ranges": [{"local_bytes": 1, "fetch_faults": 2, "fetched_bytes": 3,
            "written_bytes": 4, "start": 9}], "other_resident_bytes": 5}"#;
        std::fs::write(&path, text).unwrap();
        let found = Counted::read(&path).unwrap();
        assert_eq!((found.local_bytes, found.fetch_faults, found.written_bytes), (1, 2, 4));
        assert_eq!(found.other_resident_bytes, 5);
        std::fs::write(&path, r#"{"ranges": [], "other_resident_bytes": 5}"#).unwrap();
        assert!(Counted::read(&path).is_err());
        assert!(option("zgc").is_err());
    }
}
