//! Memory servers that send messages that no memory server sends: the VM ends with one line that names the server, and
//! never panics.
//!
//! This program is VM (`--vm COLLECTOR`) and memory server (`--fd N`) too; the server's behaviour is in `HOSTILE`. It
//! serves pages as it should, and most of its answers are a real agent's.

mod support;

use gc::agent::AgentService;
use gc::agent::protocol::{Discovered, Flags, Notice, Reply, Request};
use gc::agent::region_map::RegionMap;
use gc::core::outcome::CollectCause;
use gc::hit::{EntryIndex, HitGeometry, RegionId, TabletId};
use gc::object::ObjectRef;
use gc::object::layout::ReferenceKind;
use gc::options::{CollectorKind, HeapOptions, LocalMemory};
use rdma::server::{self, Session};
use rdma::{PeerId, RdmaError, Service};
use std::env;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};
use support::{TestThread, TestVm};

/// Collector, the server's behaviour, and the VM's last message.
const CASES: [(&str, &str, &str); 24] = [
    ("serial", "nothing", ""),
    ("serial", "request", "sent a request, but it only holds memory"),
    ("serial", "notice", "sent a notice, but it only holds memory"),
    ("mako", "nothing", ""),
    ("mako", "request", "sent a request, which agents never do"),
    ("mako", "malformed-notice", "sent a malformed notice"),
    ("mako", "flood", "sent more notices than it was asked for"),
    ("mako", "forged-group", "evacuated group 77, which it was not asked for"),
    ("mako", "forged-copies", "which it was not asked for"),
    ("mako", "forged-end", "an end outside of the region"),
    ("mako", "forged-tablets", "tablets that it was not given"),
    ("mako", "wrong-reply", "answered Flags"),
    ("mako", "malformed-reply", "sent a malformed reply"),
    ("mako", "endless-references", "reported references that it does not have"),
    ("mako", "live-bytes", "counted more live bytes than the heap has"),
    ("mako", "idle", "reports that it is tracing, but has traced nothing for 1.5s"),
    ("mako", "slow", ""),
    ("semeru", "nothing", ""),
    ("semeru", "request", "sent a request, which agents never do"),
    ("semeru", "malformed-notice", "sent a malformed notice"),
    ("semeru", "forged-group", "which the VM did not request"),
    ("semeru", "wrong-reply", "answered Flags"),
    ("semeru", "malformed-reply", "sent a malformed reply"),
    ("semeru", "live-bytes", "counted more live bytes than the region has"),
];

fn main() {
    let arguments: Vec<String> = env::args().collect();
    match arguments.get(1).map(String::as_str) {
        Some("--fd") => {
            let fd = arguments[2].parse().unwrap();
            let _ = server::serve(fd, None, |session| Hostile::start(session));
        }
        Some("--vm") => vm(arguments[2].parse().unwrap()),
        Some("--panic") => {
            support::PANICS_AT_CYCLE_END.store(true, Ordering::SeqCst);
            vm(arguments[2].parse().unwrap());
        }
        _ => {
            // A collector whose thread panics takes the process with it.
            for collector in ["mako", "shenandoah", "g1"] {
                panics(collector);
            }
            CASES.iter().for_each(|(collector, what, end)| judge(collector, what, end));
            println!("hostile: ok");
        }
    }
}

/// Runs a VM whose collector's thread panics at the end of a cycle.
fn panics(collector: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--panic", collector]).env("HOSTILE", "nothing");
    let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if began.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("{collector}: it hangs");
        }
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("userfaultfd") {
        return eprintln!("skipped: {stderr}");
    }
    assert!(!output.status.success() && stderr.contains("at the end of a cycle"), "{stderr}");
    println!("{collector}, panicking: {}", output.status);
}

/// Runs a VM whose server behaves as `what` says.
fn judge(collector: &str, what: &str, end: &str) {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["--vm", collector]).env("HOSTILE", what).stdin(Stdio::null());
    let began = Instant::now();
    let output = command.output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("userfaultfd") {
        return eprintln!("skipped: {stderr}");
    }
    println!("{collector}, {what}: {} {stderr}", output.status);
    assert!(began.elapsed() < Duration::from_secs(20), "{collector}, {what}: too slow");
    if end.is_empty() {
        assert_eq!(output.status.code(), Some(0), "{collector}, {what}: {stderr}");
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{collector}, {what}: {stderr}");
    let is_named = stderr.starts_with("farheap: memory server 0");
    assert!(is_named && stderr.contains(end) && stderr.lines().count() == 1, "{what}: {stderr}");
}

/// Allocates, forgets and collects for a while.
fn vm(collector: CollectorKind) {
    let mut options = HeapOptions::new(collector, 16 << 20);
    options.mako.generational = Some(false);
    options.local_memory = LocalMemory::Percent(25);
    options.memory_servers = 1;
    options.agent_timeout = Duration::from_millis(1500);
    if collector == CollectorKind::Semeru {
        // So that its servers trace something before all is collected at once.
        options.zeal_alloc_interval = Some(500);
    }
    options.memory_server_program = Some(env::current_exe().unwrap());
    let vm = TestVm::new(&options);
    let thread = TestThread::attach(&vm, 2);
    let slot = vm.classes.slot(0);
    // On a busy machine each collection of everything may come before Semeru's servers have traced to the end.
    let is_traced = || {
        collector != CollectorKind::Semeru || vm.heap.totals().counters.contains_key("tracing_us")
    };
    let began = Instant::now();
    for round in 0.. {
        if round >= ROUNDS && (is_traced() || began.elapsed() > PATIENCE) {
            break;
        }
        thread.roots[0].set(ObjectRef::NULL);
        for number in 0..20_000 {
            let node = thread.new_node(&vm, 1).unwrap();
            let next = thread.roots[0].get();
            vm.heap.barriers().store_initial(&thread.m, node, slot, next);
            if number % 3 == 0 {
                thread.roots[0].set(node);
            }
            thread.poll(&vm);
        }
        if round < ROUNDS {
            vm.heap.collect(&thread.m, CollectCause::SystemGc);
        }
    }
    thread.detach(&vm);
}

/// Rounds that end with a collection of everything.
const ROUNDS: usize = 4;
/// How long servers may take for their first tracing.
const PATIENCE: Duration = Duration::from_secs(15);

/// An agent with a fault.
struct Hostile {
    agent: Arc<AgentService>,
    session: Arc<Session>,
    what: String,
    geometry: OnceLock<HitGeometry>,
    map: OnceLock<RegionMap>,
    began: Instant,
}

impl Hostile {
    fn start(session: Arc<Session>) -> Arc<Hostile> {
        let agent = AgentService::start(session.clone());
        let what = env::var("HOSTILE").unwrap();
        let (geometry, map, began) = (OnceLock::new(), OnceLock::new(), Instant::now());
        let hostile = Arc::new(Hostile { agent, session, what, geometry, map, began });
        let speaker = hostile.clone();
        thread::spawn(move || speaker.speak());
        hostile
    }

    /// Sends the messages that are no replies.
    fn speak(&self) {
        let vm = self.session.vm();
        // The VM may end before it has received everything.
        match self.what.as_str() {
            "request" => drop(vm.call(b"?", Duration::from_secs(1))),
            "notice" => drop(vm.send(b"!")),
            "malformed-notice" => drop(vm.send(&[0, 1, 2])),
            "flood" => (0..10_000).for_each(|_| self.tell(77, 0, Vec::new())),
            "forged-group" => self.tell(77, 0, Vec::new()),
            _ => {}
        }
    }

    fn tell(&self, group: u32, top: usize, tablets: Vec<TabletId>) {
        let notice = Notice::Evacuated { group, top, objects: 1, tablets };
        drop(self.session.vm().send(&notice.encode()));
    }
}

impl Service for Hostile {
    fn on_request(&self, from: PeerId, request: &[u8]) -> Vec<u8> {
        let decoded = Request::decode(request).unwrap();
        match (self.what.as_str(), decoded) {
            ("wrong-reply", _) => {
                return Reply::Flags { flags: Flags::default(), visited: 0 }.encode();
            }
            ("malformed-reply", _) => return vec![2, 1, 255, 255, 255, 255],
            ("endless-references", Request::TakeDiscovered) => {
                let entry = EntryIndex(u32::MAX);
                let found =
                    Discovered { reference: entry, referent: entry, kind: ReferenceKind::Weak };
                return Reply::Discovered { references: vec![found], more: true }.encode();
            }
            ("forged-copies", Request::Evacuate(job)) => {
                let notice = Notice::Copied { group: job.group };
                drop(self.session.vm().send(&notice.encode()));
                return Reply::Ok.encode();
            }
            ("forged-end", Request::Evacuate(job)) => {
                self.tell(job.group, usize::MAX, Vec::new());
                return Reply::Ok.encode();
            }
            ("forged-tablets", Request::Evacuate(job)) => {
                self.tell(job.group, job.start + 64, vec![TabletId(u32::MAX)]);
                return Reply::Ok.encode();
            }
            // Always busy, and never done: one traces nothing, the other one does for longer than it may be idle.
            ("idle", Request::Poll) => {
                let flags = Flags { tracing_in_progress: true, ..Flags::default() };
                return Reply::Flags { flags, visited: 7 }.encode();
            }
            ("slow", Request::Poll) if self.began.elapsed() < Duration::from_secs(4) => {
                let flags = Flags { tracing_in_progress: true, ..Flags::default() };
                let visited = self.began.elapsed().as_millis() as u64;
                return Reply::Flags { flags, visited }.encode();
            }
            (_, Request::Configure(geometry)) => drop(self.geometry.set(geometry)),
            (_, Request::ConfigureRegions(map)) => drop(self.map.set(map)),
            ("live-bytes", Request::FinishTracing) => {
                let reply = self.agent.on_request(from, request);
                let at = match (self.geometry.get(), self.map.get()) {
                    (Some(geometry), _) => geometry.live_bytes_offset(RegionId(1)),
                    (None, map) => map.unwrap().live_bytes_offset(RegionId(1)),
                };
                self.session.segment().store(at as u64, u64::MAX);
                return reply;
            }
            _ => {}
        }
        self.agent.on_request(from, request)
    }

    fn on_notice(&self, from: PeerId, notice: &[u8]) {
        self.agent.on_notice(from, notice);
    }

    fn on_peer_lost(&self, from: PeerId, cause: &RdmaError) {
        self.agent.on_peer_lost(from, cause);
    }
}
