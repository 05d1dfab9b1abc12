//! Who is compared: our VM in its settings, and HotSpot with its collectors.

use std::io;
use std::process::Command;

use crate::jdk::Jdk;
use crate::vm::{Setting, Vm};

#[derive(Clone, Debug, PartialEq)]
pub enum Contender {
    Ours(Setting),
    /// A place in [`PEERS`].
    Peer(usize),
    /// The same once more, under another name: what differs between the two is chance.
    Again(Box<Contender>),
}

/// Names of peers, and the options that choose them.
pub const PEERS: &[(&str, &[&str])] = &[
    ("hotspot", &[]),
    ("hotspot-serial", &["-XX:+UseSerialGC"]),
    ("hotspot-parallel", &["-XX:+UseParallelGC"]),
    ("hotspot-g1", &["-XX:+UseG1GC"]),
    ("hotspot-shenandoah", &["-XX:+UseShenandoahGC"]),
    ("hotspot-zgc", &["-XX:+UseZGC"]),
    ("hotspot-interpreter", &["-Xint", "-XX:+UseSerialGC"]),
];

impl Contender {
    pub fn peer(name: &str) -> io::Result<Contender> {
        PEERS.iter().position(|(known, _)| *known == name).map(Contender::Peer).ok_or_else(|| {
            let names: Vec<&str> = PEERS.iter().map(|(name, _)| *name).collect();
            io::Error::other(format!("no peer {name}; there are {}", names.join(", ")))
        })
    }

    pub fn is_peer(&self) -> bool {
        match self {
            Contender::Ours(_) => false,
            Contender::Peer(_) => true,
            Contender::Again(first) => first.is_peer(),
        }
    }

    /// The VM with its own options; the caller adds the program and its heap.
    pub fn command(&self, vm: &Vm, jdk: &Jdk) -> Command {
        match self {
            Contender::Ours(setting) => vm.command(setting, jdk),
            Contender::Peer(at) => {
                let mut command = jdk.java();
                command.args(PEERS[*at].1);
                command
            }
            Contender::Again(first) => first.command(vm, jdk),
        }
    }
}

impl std::fmt::Display for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Contender::Ours(setting) => f.pad(&setting.to_string()),
            Contender::Peer(at) => f.pad(PEERS[*at].0),
            Contender::Again(first) => f.pad(&format!("{first}{AGAIN}")),
        }
    }
}

/// What the name of the same contender ends with when it is measured once more.
pub const AGAIN: &str = " again";

/// `25`, `25%` or `512m` as `--local-memory` of our VM takes it: a number alone is a percentage.
pub fn local_memory(text: &str) -> String {
    match text.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("{text}%"),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn peers_are_found_by_name() {
        assert_eq!(Contender::peer("hotspot-g1").unwrap().to_string(), "hotspot-g1");
        let error = Contender::peer("openj9").unwrap_err().to_string();
        assert!(error.contains("no peer openj9") && error.contains("hotspot-zgc"), "{error}");
    }

    #[test]
    fn a_number_alone_is_a_percentage() {
        assert_eq!(
            [local_memory("25"), local_memory("25%"), local_memory("64m")],
            ["25%", "25%", "64m"]
        );
    }
}
