//! The settings that `far-run` hands to the library that it preloads: one environment variable.
//!
//! Part of both, so that they cannot disagree.

use base::units::{parse_bytes, parse_percent};
use std::path::PathBuf;
use std::time::Duration;
use swap::PrefetcherKind;

/// Which mappings become far, and how.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// Which mappings are wanted.
    pub wanted: Wanted,
    /// How much of each of them may be in local memory.
    pub local: LocalMemory,
    /// The pool of local memory that they share with others, as `--local-memory-pool` writes it.
    pub pool: Option<String>,
    /// Memory servers to start for each of them.
    pub servers: u16,
    /// Running servers to use instead.
    pub connect: Vec<String>,
    /// Talk to servers that are started on this machine over TCP, not shared memory.
    pub tcp: bool,
    /// What foresees pages.
    pub prefetcher: PrefetcherKind,
    /// The file with the secret that running servers want to see.
    pub token_file: Option<PathBuf>,
    /// Injected delay of every transfer.
    pub latency: Duration,
    /// Injected limit in bytes per second, 0 = none.
    pub bandwidth: u64,
    /// The file for the counters at the end.
    pub stats: Option<PathBuf>,
    /// The program `memory-server`.
    pub program: Option<PathBuf>,
    /// The preloaded library itself, as `LD_PRELOAD` names it.
    pub library: PathBuf,
    /// Do child processes of one that has far memory get far memory too?
    pub children: bool,
    /// Print on stderr what becomes remote.
    pub verbose: bool,
}

/// Which mappings become far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Wanted {
    /// The heap of a HotSpot JVM.
    Heap,
    /// Every private anonymous mapping of at least this many bytes.
    AtLeast(usize),
}

/// How much of a range may be in local memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum LocalMemory {
    /// Percent of its length.
    Percent(f64),
    Bytes(usize),
}

impl LocalMemory {
    /// The budget for a range of `bytes`, at least `least`.
    pub fn budget_bytes(self, bytes: usize, least: usize) -> usize {
        let budget = match self {
            LocalMemory::Percent(percent) => (bytes as f64 * percent / 100.0) as usize,
            LocalMemory::Bytes(budget) => budget,
        };
        budget.max(least)
    }
}

impl std::str::FromStr for LocalMemory {
    type Err = String;

    /// `25%`, `512m`.
    fn from_str(text: &str) -> Result<LocalMemory, String> {
        match parse_percent(text) {
            Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(LocalMemory::Percent(percent)),
            Some(_) => Err("must be more than 0% and at most 100%".into()),
            None => {
                let bytes = parse_bytes(text).filter(|bytes| *bytes > 0);
                let wrong = "neither a share such as 25% nor a size such as 512m";
                bytes.map(LocalMemory::Bytes).ok_or_else(|| wrong.into())
            }
        }
    }
}

impl Settings {
    /// The environment variable.
    pub const VARIABLE: &str = "FARHEAP_RUN";

    /// As the variable's value: a line for each field. A path with a line break in it cannot be
    /// handed over.
    pub fn encode(&self) -> Result<String, String> {
        let mut text = String::new();
        let mut line = |key: &str, value: String| {
            if value.contains('\n') {
                return Err(format!("{key} has a line break: {value:?}"));
            }
            text += &format!("{key}={value}\n");
            Ok(())
        };
        match self.wanted {
            Wanted::Heap => line("range", "heap".into())?,
            Wanted::AtLeast(bytes) => line("range", bytes.to_string())?,
        }
        match self.local {
            LocalMemory::Percent(percent) => line("local", format!("{percent}%"))?,
            LocalMemory::Bytes(bytes) => line("local", bytes.to_string())?,
        }
        if let Some(pool) = &self.pool {
            line("pool", pool.clone())?;
        }
        line("servers", self.servers.to_string())?;
        for address in &self.connect {
            line("connect", address.clone())?;
        }
        line("latency", self.latency.as_nanos().to_string())?;
        line("bandwidth", self.bandwidth.to_string())?;
        line("tcp", u8::from(self.tcp).to_string())?;
        line("prefetcher", self.prefetcher.to_string())?;
        let paths =
            [("stats", &self.stats), ("program", &self.program), ("token", &self.token_file)];
        for (key, path) in paths {
            if let Some(path) = path {
                line(key, path.display().to_string())?;
            }
        }
        line("library", self.library.display().to_string())?;
        line("children", u8::from(self.children).to_string())?;
        line("verbose", u8::from(self.verbose).to_string())?;
        Ok(text)
    }

    /// `None`: the text is none that [`Settings::encode`] writes.
    pub fn decode(text: &str) -> Option<Settings> {
        let fields: Vec<(&str, &str)> =
            text.lines().map(|line| line.split_once('=')).collect::<Option<_>>()?;
        let all = |key: &'static str| {
            fields.iter().filter(move |(name, _)| *name == key).map(|(_, value)| *value)
        };
        let one = |key| all(key).next();
        Some(Settings {
            wanted: match one("range")? {
                "heap" => Wanted::Heap,
                bytes => Wanted::AtLeast(bytes.parse().ok()?),
            },
            local: one("local")?.parse().ok()?,
            pool: one("pool").map(str::to_string),
            servers: one("servers")?.parse().ok().filter(|servers| *servers > 0)?,
            connect: all("connect").map(str::to_string).collect(),
            tcp: one("tcp")? == "1",
            prefetcher: one("prefetcher")?.parse().ok()?,
            token_file: one("token").map(PathBuf::from),
            latency: Duration::from_nanos(one("latency")?.parse().ok()?),
            bandwidth: one("bandwidth")?.parse().ok()?,
            stats: one("stats").map(PathBuf::from),
            program: one("program").map(PathBuf::from),
            library: one("library")?.into(),
            children: one("children")? == "1",
            verbose: one("verbose")? == "1",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_survive_the_environment_and_nonsense_is_refused() {
        let settings = Settings {
            wanted: Wanted::AtLeast(1 << 30),
            local: LocalMemory::Percent(12.5),
            pool: Some("web=2g".into()),
            servers: 2,
            connect: vec!["unix:a".into(), "unix:b".into()],
            tcp: true,
            prefetcher: PrefetcherKind::Leap,
            token_file: Some("/tmp/a token".into()),
            latency: Duration::from_micros(5),
            bandwidth: 7,
            stats: Some("some where/stats.json".into()),
            program: None,
            library: "libfarheap_preload.so".into(),
            children: true,
            verbose: false,
        };
        let text = settings.encode().unwrap();
        assert_eq!(Settings::decode(&text), Some(settings.clone()));
        for line in text
            .lines()
            .filter(|line| ["stats", "conn", "pool"].iter().all(|may| !line.contains(may)))
        {
            let cut = text.replace(line, "");
            assert_eq!(Settings::decode(&cut), None, "without {line}");
        }
        let odd = Settings { stats: Some("a\nb".into()), ..settings };
        assert!(odd.encode().is_err());
    }

    #[test]
    fn amounts_of_local_memory() {
        assert_eq!("25%".parse(), Ok(LocalMemory::Percent(25.0)));
        assert_eq!("512m".parse(), Ok(LocalMemory::Bytes(512 << 20)));
        for wrong in ["", "%", "0%", "101%", "NaN%", "0", "-1", "99999999999t", "m", "é"] {
            assert!(wrong.parse::<LocalMemory>().is_err(), "{wrong}");
        }
        assert_eq!(LocalMemory::Percent(25.0).budget_bytes(4096, 1), 1024);
        assert_eq!(LocalMemory::Bytes(1).budget_bytes(4096, 7), 7);
    }
}
