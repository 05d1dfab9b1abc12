//! The figures of a memory server that waits for VMs: the resource use of its sessions, as the system counts it.
//!
//! Each session is a process of its own. Its memory is a file without a name, of which only the pages that hold
//! something take room, and which VMs of the same machine write without asking. So the system is asked.

use super::{Exposition, Kind};
use rdma::Traffic;
use std::fs;

/// Writes the figures of the sessions of the running process: its child processes.
pub fn server(page: &mut Exposition) {
    let sessions = sessions_of(std::process::id());
    let help = "VMs that are served now, each by a session.";
    page.single("farheap_server_sessions", Kind::Gauge, help, sessions.len());
    let name = "farheap_server_memory_bytes";
    page.family(name, Kind::Gauge, "Memory that a session holds for its VM.");
    for session in &sessions {
        let bytes = session.pid.parse().map_or(0, rdma::held_bytes);
        page.value(name, &[("session", &session.pid)], bytes);
    }
    let name = "farheap_server_cpu_seconds_total";
    page.family(name, Kind::Counter, "CPU time of a session: transfers, tracing, evacuation.");
    for session in &sessions {
        page.value(name, &[("session", &session.pid)], session.cpu_seconds);
    }
    let (to_vm, to_server) = (
        "Bytes of pages that a VM has read. Unknown for shared memory, which the VM reads itself.",
        "Bytes of pages that a VM has written. Unknown for shared memory.",
    );
    let bytes_read: fn(Traffic) -> u64 = |traffic| traffic.read_bytes;
    let bytes_written: fn(Traffic) -> u64 = |traffic| traffic.written_bytes;
    for (name, help, bytes) in [
        ("farheap_server_read_bytes_total", to_vm, bytes_read),
        ("farheap_server_written_bytes_total", to_server, bytes_written),
    ] {
        page.family(name, Kind::Counter, help);
        for session in &sessions {
            if let Some(traffic) = session.traffic() {
                let labels = [("session", session.pid.as_str()), ("transport", "tcp")];
                page.value(name, &labels, bytes(traffic));
            }
        }
    }
}

struct Session {
    pid: String,
    cpu_seconds: f64,
}

impl Session {
    /// Its traffic, if it counts any.
    fn traffic(&self) -> Option<Traffic> {
        Traffic::of_process(self.pid.parse().ok()?)
    }
}

fn sessions_of(parent: u32) -> Vec<Session> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let mut sessions: Vec<Session> = pids
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
        .filter_map(|pid| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
            let (state, ppid, ticks) = read_stat(&stat)?;
            let cpu_seconds = ticks as f64 / TICKS_PER_SECOND;
            (ppid == parent && state != 'Z').then_some(Session { pid, cpu_seconds })
        })
        .collect();
    sessions.sort_by_key(|session| session.pid.parse::<u32>().ok());
    sessions
}

/// State, parent and clock ticks of a process, from `/proc/PID/stat` (proc(5)).
fn read_stat(stat: &str) -> Option<(char, u32, u64)> {
    // The name may hold anything, brackets too.
    let (_, fields) = stat.rsplit_once(") ")?;
    let fields: Vec<&str> = fields.split_ascii_whitespace().collect();
    let number = |index: usize| fields.get(index)?.parse::<u64>().ok();
    let state = fields.first()?.chars().next()?;
    Some((state, u32::try_from(number(1)?).ok()?, number(11)? + number(12)?))
}

/// `USER_HZ` of x86-64.
const TICKS_PER_SECOND: f64 = 100.0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn processes_are_read() {
        let line = "17 (a ) b) S 4 17 17 0 -1 1 0 0 0 0 250 50 0 0 20 0 1 0 9 9";
        assert_eq!(read_stat(line), Some(('S', 4, 300)));
        for wrong in ["", "17 (a)", "17 (a) ", "17 (a) S x 1 1"] {
            assert_eq!(read_stat(wrong), None, "{wrong:?}");
        }
    }

    #[test]
    fn children_are_found() {
        let mut command = Command::new("cat");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let pid = child.id().to_string();
        let found = sessions_of(std::process::id());
        assert!(found.iter().any(|session| session.pid == pid), "the child");
        assert_eq!(rdma::held_bytes(child.id()), 0);
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(sessions_of(std::process::id()).iter().all(|session| session.pid != pid));
    }
}
