//! The options of `gc-bench run`. They are stored with its results, so that it can go on later.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use base::units::parse_bytes;
use clap::Args;

use crate::gc_bench::class_path::Libraries;
use crate::gc_bench::contender::{self, Contender, FAR_BANDWIDTH, FAR_LATENCY, Far, Way};
use crate::gc_bench::cores::Cores;
use crate::gc_bench::local::Likeness;
use crate::gc_bench::manifest::{Manifest, Size, Workload};
use crate::gc_bench::suites::Choice;
use crate::java::jdk::Jdk;
use crate::java::vm::{Setting, Vm};
use crate::kernel_swap::network::{self, Network};

#[derive(Args, Clone, Debug)]
pub struct RunOptions {
    /// Only these workloads [default: all whose libraries are installed]
    #[arg(long, value_delimiter = ',')]
    pub workloads: Vec<String>,
    /// Only the workloads of this suite
    #[arg(long)]
    pub suite: Option<Choice>,
    /// Size of the workloads [default: tiny; small for the quick suite]
    #[arg(long)]
    pub size: Option<Size>,
    /// Collectors of our VM [default: all that it has]
    #[arg(long, value_delimiter = ',')]
    pub gc: Vec<String>,
    /// Additional collectors with options, such as 'mako -XX:-UseHIT', or at some shares of local memory only:
    /// 'mako@100,25 -XX:-UseHIT' (repeat for several)
    #[arg(long, value_name = "COLLECTOR[@SHARES] OPTIONS", allow_hyphen_values = true)]
    pub also: Vec<String>,
    /// Heap size for all contenders, as in -Xmx, instead of the workload's
    #[arg(long, value_parser = heap_size)]
    pub heap: Option<String>,
    /// Other arguments for a workload at this size, such as 'study-phases=13200 60000 2': 10 % more work (repeat for
    /// several)
    #[arg(long, value_name = "WORKLOAD=ARGUMENTS")]
    pub arguments: Vec<String>,
    /// Shares of the heap in local memory: percentages, or sizes such as 64m
    #[arg(long, value_delimiter = ',', default_value = "100,25")]
    pub local_memory: Vec<String>,
    /// Other VMs to compare with, from `gc-bench list`; the first is the baseline. They have all of their memory local
    /// unless `--far` says otherwise
    #[arg(long, value_delimiter = ',', default_value = "hotspot")]
    pub peers: Vec<String>,
    /// Compare with no other VM; results must be those of the manifest
    #[arg(long, conflicts_with = "peers")]
    pub no_peers: bool,
    /// Place of the memory that is not local: of ours shm, tcp, or undelayed; and of peers, which then run at each
    /// share of local memory too, kernel-zram, kernel-fuse or far-run
    #[arg(long, value_delimiter = ',')]
    pub far: Vec<Far>,
    /// Give ours, and peers under far-run, as much local memory as this peer has of its heap resident, averaged over
    /// time, in the same workload, share and round, which begins with the peer; it must run under the kernel's swap
    #[arg(long, value_name = "PEER", conflicts_with = "no_peers")]
    pub as_resident_as: Option<String>,
    /// Minimum latency of each transfer from and to remote memory, for all but kernel-zram; 0s: none [default: 5us, as
    /// far as RDMA; 0s with --far kernel-zram]
    #[arg(long, value_name = "TIME", value_parser = far_latency)]
    pub far_latency: Option<String>,
    /// Bandwidth limit of remote memory, for all but kernel-zram; 0: none [default: 40gbit; 0 with --far kernel-zram]
    #[arg(long, value_name = "RATE", value_parser = far_bandwidth)]
    pub far_bandwidth: Option<String>,
    /// Number of runs of each kind; with fewer than 5 no difference can be significant
    #[arg(long, default_value_t = 3, value_parser = at_least_one)]
    pub runs: usize,
    /// Measure every contender twice, the second time as `NAME again`: differences between the two are noise
    #[arg(long)]
    pub again: bool,
    /// Seed of the order of the runs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// The folder for rows, counters and the output of failed runs [default: target/gc-bench/TIME]
    #[arg(long)]
    pub out: Option<PathBuf>,
    /// Resume the series in this folder: a run that has a row is not repeated. Takes no other options: those of the
    /// series apply
    #[arg(long, value_name = "FOLDER")]
    pub resume: Option<PathBuf>,
    /// Time limit of one run, in seconds; a run that exceeds it is ended, and is recorded
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub timeout: u64,
    /// Start no run that would probably end after more than this many minutes [default: none; 12 for the quick suite]
    #[arg(long, value_name = "MINUTES", value_parser = clap::value_parser!(u64).range(..=100_000))]
    pub budget: Option<u64>,
    /// Pin the program and the memory servers to cores: `0-3:4-7`; without a value, to half of the cores each
    #[arg(long, value_name = "PROGRAM:SERVERS", num_args = 0..=1, default_missing_value = "")]
    pub pin: Option<String>,
    /// Run programs without the thread that measures pauses inside the VM
    #[arg(long)]
    pub no_probe: bool,
    /// Have our VM say where programs have page faults, by Java method and line: stacks in the folder `faults`, and the
    /// ten places with most faults in the report
    #[arg(long)]
    pub fault_profile: bool,
    #[arg(long, default_value_t = 2)]
    pub memory_servers: u32,
    /// More options for our VM, such as -Xint (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    pub vm_option: Vec<String>,
    /// More options for peers, such as -Xmn64m (repeat for several)
    #[arg(long, allow_hyphen_values = true, conflicts_with = "no_peers")]
    pub peer_option: Vec<String>,
}

impl RunOptions {
    pub fn size(&self) -> Size {
        let quick = self.suite == Some(Choice::Quick);
        self.size.unwrap_or(if quick { Size::Small } else { Size::Tiny })
    }

    pub fn budget(&self) -> Option<u64> {
        let quick = self.suite == Some(Choice::Quick);
        self.budget.or(quick.then_some(QUICK_MINUTES))
    }

    pub fn cores(&self) -> io::Result<Option<Cores>> {
        self.pin.as_deref().map(Cores::parse).transpose()
    }

    /// The network that far memory is behind.
    pub fn network(&self) -> Network {
        // Nothing delays zram, and others would not be compared with the same.
        let default = match self.far.contains(&Far::KernelZram) {
            true => Network::default(),
            false => RDMA,
        };
        let latency = self.far_latency.as_deref().map(network::latency);
        let bandwidth = self.far_bandwidth.as_deref().map(network::bandwidth);
        Network {
            latency: latency.map_or(default.latency, |known| known.expect("it was checked")),
            bandwidth: bandwidth.map_or(default.bandwidth, |known| known.expect("it was checked")),
        }
    }

    /// The workloads to measure, in the order of the command line, or of the manifest.
    pub fn chosen<'a>(&self, manifest: &'a Manifest) -> io::Result<Vec<&'a Workload>> {
        let mut found = Vec::new();
        if !self.workloads.is_empty() {
            for name in &self.workloads {
                found.push(manifest.find(name)?);
            }
        } else {
            let libraries = Libraries::find()?;
            for workload in self.of_suite(manifest.workloads.iter().collect()) {
                match libraries.class_path(workload).and(workload.sizing(self.size()).map(drop)) {
                    Ok(()) => found.push(workload),
                    Err(error) => base::say(format_args!("skipped: {error}")),
                }
            }
        }
        let found = self.of_suite(found);
        match found.is_empty() {
            true => Err(io::Error::other("no workload is left to run")),
            false => Ok(found),
        }
    }

    fn of_suite<'a>(&self, mut workloads: Vec<&'a Workload>) -> Vec<&'a Workload> {
        workloads.retain(|workload| self.suite.is_none_or(|suite| suite.has(workload)));
        workloads
    }

    /// Peers first: ours are compared with them.
    pub fn contenders(&self, vm: &Vm, jdk: &Jdk) -> io::Result<Vec<Contender>> {
        let mut found = Vec::new();
        if !self.no_peers {
            for name in &self.peers {
                found.push(Contender::peer(name)?);
            }
        }
        for (far, way) in WAYS {
            let peers = if self.far.contains(&far) { self.peers.as_slice() } else { &[] };
            let shares = self.local_memory.iter().map(|share| contender::local_memory(share));
            for local_memory in shares.filter(|share| share != "100%") {
                for name in peers {
                    found.push(Contender::confined(name, way, &local_memory)?);
                }
            }
        }
        let known = vm.collectors(jdk)?;
        if let Some(other) = self.gc.iter().find(|name| !known.contains(name)) {
            let names = known.join(", ");
            return Err(io::Error::other(format!(
                "unknown collector {other}: must be one of {names}"
            )));
        }
        let transports = self.transports();
        for kind in &self.kinds(&known)? {
            for local_memory in &kind.local_memory {
                let local_memory = contender::local_memory(local_memory);
                // With all memory local they are the same.
                let different = if local_memory == "100%" { 1 } else { transports.len() };
                for transport in &transports[..different] {
                    let options = [&self.vm_option, transport, &kind.options];
                    found.push(Contender::Ours(Setting {
                        collector: kind.collector.clone(),
                        local_memory: local_memory.clone(),
                        memory_servers: self.memory_servers,
                        options: options.into_iter().flatten().cloned().collect(),
                    }));
                }
            }
        }
        if self.again {
            let again = |first: &Contender| Contender::Again(Box::new(first.clone()));
            found.extend(found.iter().map(again).collect::<Vec<Contender>>());
        }
        let names: Vec<String> = found.iter().map(Contender::to_string).collect();
        if let Some(at) = (1..names.len()).find(|at| names[..*at].contains(&names[*at])) {
            let reason = format!("{} is chosen twice; --again measures it twice", names[at]);
            return Err(io::Error::other(reason));
        }
        Ok(found)
    }

    /// The contenders that get the local memory that a peer had; the error says why that is not possible.
    pub fn likeness(&self, contenders: &[Contender]) -> io::Result<Likeness> {
        let peer = self.as_resident_as.as_deref();
        peer.map_or(Ok(Likeness::default()), |peer| Likeness::of(peer, contenders))
    }

    /// The options that choose how ours talk to memory servers, in turn.
    fn transports(&self) -> Vec<Vec<String>> {
        let own = |options: &[&str]| options.iter().map(|option| option.to_string()).collect();
        let undelayed = [format!("{FAR_LATENCY}0s"), format!("{FAR_BANDWIDTH}0")].to_vec();
        let all = [
            (Far::Shm, Vec::new()),
            (Far::Tcp, own(&["--transport", "tcp"])),
            (Far::Undelayed, undelayed),
        ];
        let chosen = all.into_iter().filter(|(far, _)| self.far.contains(far));
        let chosen: Vec<Vec<String>> = chosen.map(|(_, options)| options).collect();
        if chosen.is_empty() { vec![Vec::new()] } else { chosen }
    }

    /// The collectors chosen, with and without more options.
    fn kinds(&self, known: &[String]) -> io::Result<Vec<Kind>> {
        let plain = if self.gc.is_empty() { known } else { &self.gc };
        let kind = |collector: &str, options: Vec<String>| Kind {
            collector: collector.to_string(),
            options,
            local_memory: self.local_memory.clone(),
        };
        let mut kinds: Vec<Kind> =
            plain.iter().map(|collector| kind(collector, Vec::new())).collect();
        for also in &self.also {
            let mut words = also.split_whitespace().map(str::to_string);
            let (first, options) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>());
            let (collector, shares) = first.split_once('@').unwrap_or((&first, ""));
            let shares: Vec<String> =
                shares.split(',').filter(|share| !share.is_empty()).map(str::to_string).collect();
            if !known.iter().any(|name| name == collector)
                || options.is_empty()
                || first.contains('@') && shares.is_empty()
            {
                let reason = format!("--also '{also}' is not a collector and options of our VM");
                return Err(io::Error::other(reason));
            }
            let mut kind = kind(collector, options);
            if !shares.is_empty() {
                kind.local_memory = shares;
            }
            kinds.push(kind);
        }
        Ok(kinds)
    }
}

/// A collector, its options in addition to those of all, and the shares of local memory that it runs at.
#[derive(Clone, Debug, PartialEq)]
struct Kind {
    collector: String,
    options: Vec<String>,
    local_memory: Vec<String>,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    text.parse()
        .ok()
        .filter(|runs| *runs > 0)
        .ok_or_else(|| format!("{text:?} is not a number of at least 1"))
}

fn far_latency(text: &str) -> Result<String, String> {
    network::latency(text).map(|_| text.to_string())
}

fn far_bandwidth(text: &str) -> Result<String, String> {
    network::bandwidth(text).map(|_| text.to_string())
}

fn heap_size(text: &str) -> Result<String, String> {
    parse_bytes(text)
        .map(|_| text.to_string())
        .ok_or_else(|| format!("{text:?} is not a size such as 4g"))
}

/// The values of `--far` that confine peers, and the way of each.
const WAYS: [(Far, Way); 3] = [
    (Far::KernelZram, Way::KernelZram),
    (Far::KernelFuse, Way::KernelFuse),
    (Far::FarRun, Way::FarRun),
];

/// The default network: about that of RDMA over 40 Gbit/s, as in the papers.
const RDMA: Network = Network { latency: Duration::from_micros(5), bandwidth: 5_000_000_000 };

/// The time limit of the quick suite; a report and a build fit into the rest of 15 minutes.
const QUICK_MINUTES: u64 = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Words {
        #[command(flatten)]
        run: RunOptions,
    }

    fn options(words: &[&str]) -> Result<RunOptions, clap::Error> {
        Words::try_parse_from(["gc-bench"].iter().chain(words)).map(|words| words.run)
    }

    #[test]
    fn one_more_is_a_collector_with_options() {
        let known = ["mako", "serial"].map(str::to_string);
        let kinds = |words: &[&str]| options(words).unwrap().kinds(&known);
        let found = kinds(&["--gc", "serial", "--also", "mako -XX:-UseHIT -Xint"]).unwrap();
        let kind = |collector: &str, options: &[&str], shares: &[&str]| Kind {
            collector: collector.to_string(),
            options: options.iter().map(|option| option.to_string()).collect(),
            local_memory: shares.iter().map(|share| share.to_string()).collect(),
        };
        let mako = |shares| kind("mako", &["-XX:-UseHIT", "-Xint"], shares);
        assert_eq!(found, [kind("serial", &[], &["100", "25"]), mako(&["100", "25"])]);
        let words = ["--gc", "serial", "--also", "mako@100%,64m -XX:-UseHIT -Xint"];
        assert_eq!(kinds(&words).unwrap()[1], mako(&["100%", "64m"]));
        assert_eq!(kinds(&[]).unwrap().len(), 2);
        for wrong in ["mako", "zgc -Xint", "", "mako@ -Xint", "mako@,, -Xint", "@25 -Xint"] {
            let error = kinds(&["--also", wrong]).unwrap_err().to_string();
            assert!(error.contains("not a collector and options"), "{error}");
        }
    }

    #[test]
    fn a_network_is_a_time_and_a_rate() {
        let network = |words: &[&str]| options(words).unwrap().network();
        assert_eq!(network(&[]).to_string(), "5 us, 40 Gbit/s");
        assert_eq!(network(&["--far", "kernel-zram"]), Network::default());
        assert_eq!(network(&["--far-latency", "0s", "--far-bandwidth", "0"]), Network::default());
        let words = ["--far", "kernel-zram", "--far-latency", "2us", "--far-bandwidth", "100mbit"];
        assert_eq!(network(&words).to_string(), "2 us, 0.1 Gbit/s");
        assert_eq!(network(&["--far-latency", "2us"]).to_string(), "2 us, 40 Gbit/s");
        assert!(options(&["--far-latency", "5"]).is_err());
        assert!(options(&["--far-bandwidth", "fast"]).is_err());
    }

    #[test]
    fn all_transports_are_measured_that_are_named() {
        let transports = |far: &str| options(&["--far", far]).unwrap().transports();
        let tcp = ["--transport", "tcp"].map(str::to_string).to_vec();
        assert_eq!(transports("shm,tcp"), [Vec::new(), tcp.clone()]);
        let undelayed = ["-XX:FarLatency=0s", "-XX:FarBandwidth=0"].map(str::to_string).to_vec();
        assert_eq!(transports("undelayed,shm"), [Vec::new(), undelayed.clone()]);
        assert_eq!(transports("undelayed"), [undelayed]);
        assert_eq!(transports("tcp"), [tcp]);
        assert_eq!(transports("kernel-zram"), [Vec::<String>::new()]);
        assert_eq!(options(&[]).unwrap().transports().len(), 1);
        assert!(options(&["--runs", "0"]).is_err());
    }

    #[test]
    fn a_heap_is_a_size() {
        assert_eq!(options(&["--heap", "4g"]).unwrap().heap.as_deref(), Some("4g"));
        assert!(options(&["--heap", "much"]).is_err());
    }
}
