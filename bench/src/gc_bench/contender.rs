//! The contenders: our VM in its settings, and HotSpot with its collectors.

use std::io;
use std::path::Path;
use std::process::Command;

use crate::java::far_run::FarRun;
use crate::java::jdk::Jdk;
use crate::java::vm::{Setting, Vm};
use crate::kernel_swap::network::{self, Network};

#[derive(Clone, Debug, PartialEq)]
pub enum Contender {
    Ours(Setting),
    /// A place in [`PEERS`].
    Peer(usize),
    /// The same with a part of its memory local, and the rest remote.
    Confined {
        peer: usize,
        way: Way,
        local_memory: String,
    },
    /// The same once more, under another name: differences between the two are chance.
    Again(Box<Contender>),
}

/// How a peer gets by with less local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The kernel swaps into compressed memory: a memory cgroup, and a zram device.
    KernelZram,
    /// The kernel swaps to a file of ours, behind an injected network: a memory cgroup, a loop device, FUSE.
    KernelFuse,
    /// `far-run` keeps its heap on memory servers.
    FarRun,
}

impl Way {
    /// Whether it takes a cgroup and a swap device.
    pub fn is_kernel_swap(self) -> bool {
        self != Way::FarRun
    }
}

/// The values of `--far`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Far {
    /// Our VM's memory servers over shared memory (the default)
    Shm,
    /// Our VM's memory servers over TCP
    Tcp,
    /// Our VM's memory servers over shared memory without the network of --far-latency and --far-bandwidth: a second
    /// model of remote memory beside the first
    Undelayed,
    /// Peers at each share of local memory too, with the rest in the kernel's swap on zram; requires root
    KernelZram,
    /// The same with swap on a file that a process of ours serves through FUSE, with the network of `--far-latency`
    /// and `--far-bandwidth`; requires root
    KernelFuse,
    /// Peers at each share of local memory too, with the rest of their heap on memory servers, by far-run
    FarRun,
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
            io::Error::other(format!("unknown peer {name}: must be one of {}", names.join(", ")))
        })
    }

    pub fn is_peer(&self) -> bool {
        match self {
            Contender::Ours(_) => false,
            Contender::Peer(_) | Contender::Confined { .. } => true,
            Contender::Again(first) => first.is_peer(),
        }
    }

    /// A peer with a part of its memory. The error says why that is not possible.
    pub fn confined(name: &str, way: Way, local_memory: &str) -> io::Result<Contender> {
        let Contender::Peer(peer) = Contender::peer(name)? else { unreachable!("peers are peers") };
        let collector = name.strip_prefix("hotspot-").unwrap_or("");
        if way == Way::FarRun && !FarRun::collectors().any(|known| known == collector) {
            let known: Vec<String> =
                FarRun::collectors().map(|known| format!("hotspot-{known}")).collect();
            let known = known.join(", ");
            let reason = format!("{name} cannot run under far-run, but {known} can");
            return Err(io::Error::other(reason));
        }
        Ok(Contender::Confined { peer, way, local_memory: local_memory.to_string() })
    }

    /// The share of local memory of one whose pages our pager brings, as its name has it: one of ours, or a peer under
    /// `far-run`. `None` of the others.
    pub fn share_of_pager(&self) -> Option<&str> {
        match self {
            Contender::Ours(setting) => Some(&setting.local_memory),
            Contender::Confined { way: Way::FarRun, local_memory, .. } => Some(local_memory),
            Contender::Again(first) => first.share_of_pager(),
            Contender::Peer(_) | Contender::Confined { .. } => None,
        }
    }

    /// The same with this many bytes of local memory, in whole KiB, if our pager brings its pages.
    pub fn with_local_bytes(&self, bytes: u64) -> Contender {
        let local_memory = format!("{}k", bytes >> 10);
        match self {
            Contender::Ours(setting) => {
                Contender::Ours(Setting { local_memory, ..setting.clone() })
            }
            Contender::Confined { way: Way::FarRun, peer, .. } => {
                Contender::Confined { way: Way::FarRun, peer: *peer, local_memory }
            }
            Contender::Again(first) => Contender::Again(Box::new(first.with_local_bytes(bytes))),
            other => other.clone(),
        }
    }

    /// Whether its options say how large its heap is.
    pub fn has_heap(&self) -> bool {
        match self {
            Contender::Ours(setting) => setting.options.iter().any(|one| one.starts_with("-Xmx")),
            Contender::Again(first) => first.has_heap(),
            _ => false,
        }
    }

    /// Whether its heap is shared memory, mapped several times.
    pub fn has_shared_heap(&self) -> bool {
        matches!(self.unconfined(), Contender::Peer(at) if PEERS[at].0 == "hotspot-zgc")
    }

    /// The way it is confined, if it is a confined peer.
    pub fn way(&self) -> Option<(Way, &str)> {
        match self {
            Contender::Confined { way, local_memory, .. } => Some((*way, local_memory)),
            Contender::Again(first) => first.way(),
            _ => None,
        }
    }

    /// Without what confines it, and without being the second of two.
    pub fn unconfined(&self) -> Contender {
        match self {
            Contender::Confined { peer, .. } => Contender::Peer(*peer),
            Contender::Again(first) => first.unconfined(),
            other => other.clone(),
        }
    }

    /// How many memory servers it has on this machine, and how it talks to them; `None` if all of its memory is local
    /// or in a pool without agents, or the kernel swaps.
    pub fn servers(&self) -> Option<(u32, &'static str)> {
        match self {
            Contender::Ours(setting) if setting.local_memory == "100%" => None,
            Contender::Ours(setting) if setting.has_no_servers() => None,
            Contender::Ours(setting) => {
                let is_tcp = setting.options.iter().any(|option| option == "tcp");
                let transport = if is_tcp { "TCP" } else { "shared memory" };
                Some((setting.memory_servers, transport))
            }
            Contender::Confined { way: Way::FarRun, .. } => {
                Some((FAR_RUN_SERVERS, "shared memory"))
            }
            Contender::Again(first) => first.servers(),
            Contender::Peer(_) | Contender::Confined { .. } => None,
        }
    }

    /// The network to its remote memory: that of the series, if its own options choose no other.
    pub fn network(&self, of_series: Network) -> Network {
        let options = match self {
            Contender::Ours(setting) => setting.options.as_slice(),
            Contender::Again(first) => return first.network(of_series),
            _ => &[],
        };
        let mut network = of_series;
        for option in options {
            if let Some(latency) = option.strip_prefix(FAR_LATENCY) {
                network.latency = network::latency(latency).unwrap_or(network.latency);
            }
            if let Some(bandwidth) = option.strip_prefix(FAR_BANDWIDTH) {
                network.bandwidth = network::bandwidth(bandwidth).unwrap_or(network.bandwidth);
            }
        }
        network
    }

    /// The VM with its own options and those of the network that far memory is behind, counters going to `stats`; the
    /// caller adds the program and its heap. The kernel's swap is not part of the command.
    pub fn command(
        &self,
        vm: &Vm,
        jdk: &Jdk,
        network: &[String],
        stats: &Path,
    ) -> io::Result<Command> {
        Ok(match self {
            Contender::Ours(setting) => {
                // Its own options come last, so that they may choose another network.
                let mut setting = setting.clone();
                setting.options.splice(0..0, network.iter().cloned());
                let mut command = vm.command(&setting, jdk);
                command.arg("--stats").arg(stats);
                command.arg(format!("-XX:FaultTrace={FAULT_SAMPLES}"));
                command
            }
            Contender::Confined { peer, way: Way::FarRun, local_memory } => {
                let name = PEERS[*peer].0;
                let setting = Setting {
                    collector: name.strip_prefix("hotspot-").unwrap_or(name).to_string(),
                    local_memory: local_memory.clone(),
                    memory_servers: FAR_RUN_SERVERS,
                    options: network.to_vec(),
                };
                FarRun::find()?.command(&setting, jdk, Some(stats))?
            }
            Contender::Peer(at) | Contender::Confined { peer: at, .. } => {
                let mut command = jdk.java();
                command.args(PEERS[*at].1);
                if matches!(self, Contender::Confined { .. }) {
                    // It would take the cgroup's memory for the machine's, and choose another collector for so little.
                    command.arg("-XX:-UseContainerSupport");
                    if self.has_shared_heap() {
                        // It asks for its initial heap at once, and until it has it the kernel swaps none of it.
                        command.arg("-Xms8m");
                    }
                }
                command
            }
            Contender::Again(first) => first.command(vm, jdk, network, stats)?,
        })
    }
}

impl std::fmt::Display for Contender {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Contender::Ours(setting) => f.pad(&setting.to_string()),
            Contender::Peer(at) => f.pad(PEERS[*at].0),
            Contender::Confined { peer, way, local_memory } => {
                f.pad(&format!("{} {local_memory} {way}", PEERS[*peer].0))
            }
            Contender::Again(first) => f.pad(&format!("{first}{AGAIN}")),
        }
    }
}

impl std::fmt::Display for Way {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Way::KernelZram => "kernel-zram",
            Way::KernelFuse => "kernel-fuse",
            Way::FarRun => "far-run",
        })
    }
}

/// Faults of a run that its trace keeps: a picture shows no more.
const FAULT_SAMPLES: usize = 2000;

/// Options of our VM, as rows' names have them, that choose a network.
pub const FAR_LATENCY: &str = "-XX:FarLatency=";
pub const FAR_BANDWIDTH: &str = "-XX:FarBandwidth=";

/// As many as our VM starts.
const FAR_RUN_SERVERS: u32 = 2;

/// The end of the name of a contender that is measured once more.
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
    use std::time::Duration;

    #[test]
    fn peers_are_found_by_name() {
        assert_eq!(Contender::peer("hotspot-g1").unwrap().to_string(), "hotspot-g1");
        let error = Contender::peer("openj9").unwrap_err().to_string();
        assert!(error.contains("unknown peer openj9") && error.contains("hotspot-zgc"), "{error}");
    }

    #[test]
    fn a_confined_peer_says_how_and_why_not() {
        let far = Contender::confined("hotspot-g1", Way::FarRun, "25%").unwrap();
        assert_eq!(far.to_string(), "hotspot-g1 25% far-run");
        assert_eq!(far.way(), Some((Way::FarRun, "25%")));
        assert_eq!(far.unconfined().to_string(), "hotspot-g1");
        let error = Contender::confined("hotspot-zgc", Way::FarRun, "25%").unwrap_err();
        assert!(error.to_string().contains("hotspot-parallel"), "{error}");
        let swapped = Contender::confined("hotspot-zgc", Way::KernelZram, "25%").unwrap();
        assert!(swapped.has_shared_heap() && !far.has_shared_heap());
    }

    #[test]
    fn options_of_one_choose_its_network() {
        let ours = |options: &[&str]| {
            Contender::Ours(Setting {
                collector: "mako".to_string(),
                local_memory: "25%".to_string(),
                memory_servers: 2,
                options: options.iter().map(|option| option.to_string()).collect(),
            })
        };
        let series = Network { latency: Duration::from_micros(5), bandwidth: 5_000_000_000 };
        assert_eq!(ours(&["-Xint"]).network(series), series);
        assert_eq!(ours(&["-Xint"]).servers(), Some((2, "shared memory")));
        for (collector, servers) in [("mako", Some((2, "shared memory"))), ("g1", None)] {
            let pooled = Contender::Ours(Setting {
                collector: collector.to_string(),
                local_memory: "25%".to_string(),
                memory_servers: 2,
                options: vec!["-XX:MemoryPool=/dev/shm/heaps".to_string()],
            });
            assert_eq!(pooled.servers(), servers);
        }
        let undelayed = ours(&["-XX:FarLatency=0s", "-XX:FarBandwidth=0"]);
        assert_eq!(undelayed.network(series), Network::default());
        assert_eq!(Contender::Again(Box::new(undelayed)).network(series), Network::default());
        let slow = ours(&["-XX:FarLatency=20us"]).network(series);
        assert_eq!(slow, Network { latency: Duration::from_micros(20), ..series });
        assert_eq!(Contender::Peer(0).network(series), series);
    }

    #[test]
    fn a_number_alone_is_a_percentage() {
        assert_eq!(
            [local_memory("25"), local_memory("25%"), local_memory("64m")],
            ["25%", "25%", "64m"]
        );
    }
}
