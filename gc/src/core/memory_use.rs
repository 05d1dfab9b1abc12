//! Memory that this process has resident, told apart from that of memory servers on the same machine.

use rdma::spawn::Fleet;
use std::fs;

/// All in bytes. Read from `/proc`, with a walk over the mapped memory of servers: for figures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct MemoryUse {
    /// Resident in this process, without pages of servers: heap, tables, code, stacks, native memory.
    pub vm_bytes: u64,
    /// Pages of servers, or of a memory pool, that are mapped in this process. The system counts them as resident here,
    /// too; a container counts them once, where the server runs.
    pub mapped_server_bytes: u64,
    /// Held for this VM by the servers that it has started: its child processes, in its own container. Without what
    /// lies in a memory pool.
    pub child_server_bytes: u64,
    /// Held for this VM by servers on this machine that were running before, or in a memory pool.
    pub other_server_bytes: u64,
}

impl MemoryUse {
    /// Of this process. Servers on other machines do not count.
    pub fn now(fleet: Option<&Fleet>) -> MemoryUse {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let resident = kib_of(&status, "VmRSS:").unwrap_or(0) << 10;
        let mut memory = MemoryUse { vm_bytes: resident, ..MemoryUse::default() };
        let Some(fleet) = fleet else { return memory };
        let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        memory.mapped_server_bytes = mapped_bytes(&maps, SEGMENT);
        memory.vm_bytes = resident.saturating_sub(memory.mapped_server_bytes);
        for server in 0..fleet.servers() {
            let bytes = fleet.held_bytes(server).unwrap_or(0);
            match fleet.pid(server) {
                Some(_) => memory.child_server_bytes += bytes,
                None => memory.other_server_bytes += bytes,
            }
        }
        memory
    }

    /// The same where remote memory lies in a pool.
    #[cfg(not(loom))]
    pub fn with_pool(mut self, pool: &rdma::PoolSegment) -> MemoryUse {
        let maps = fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        let path = fs::canonicalize(pool.path()).unwrap_or_else(|_| pool.path().into());
        let mapped = mapped_bytes(&maps, &path.to_string_lossy());
        self.mapped_server_bytes += mapped;
        self.vm_bytes = self.vm_bytes.saturating_sub(mapped);
        self.other_server_bytes += pool.held_bytes();
        self
    }
}

/// The resident bytes of all mappings of a file with this name.
fn mapped_bytes(smaps: &str, name: &str) -> u64 {
    let mut is_segment = false;
    let mut kib = 0;
    for line in smaps.lines() {
        // The first line of a mapping begins with its addresses, which are written in small letters.
        if line.starts_with(|c: char| c.is_ascii_digit() || c.is_ascii_lowercase()) {
            is_segment = line.contains(name);
        } else if is_segment {
            kib += kib_of(line, "Rss:").unwrap_or(0);
        }
    }
    kib << 10
}

/// The number behind a name in lines `name number kB`.
fn kib_of(text: &str, name: &str) -> Option<u64> {
    let value = text.lines().find_map(|line| line.strip_prefix(name))?;
    value.strip_suffix("kB")?.trim().parse().ok()
}

const SEGMENT: &str = "/memfd:farheap-segment";

#[cfg(test)]
mod tests {
    use super::*;
    use rdma::{PeerId, ShmSegment};

    #[test]
    fn mapped_pages_of_servers_are_not_the_vms() {
        let smaps = "7f00-7f10 rw-s 00000000 00:01 5   /memfd:farheap-segment (deleted)\nSize: 64 kB\nRss:  12 kB\n\
                     c000-c010 rw-p 00000000 00:00 0 \nRss:    9 kB\nVmFlags: rd\n";
        assert_eq!(mapped_bytes(smaps, SEGMENT), 12 << 10);
        assert_eq!((mapped_bytes("", SEGMENT), kib_of("Rss: x kB", "Rss:")), (0, None));
        let segment = ShmSegment::create(PeerId::Server(0), 8 << 20).unwrap();
        (0..1024).for_each(|page| segment.store(page * 4096, 1));
        // Other tests of this process have segments, too.
        assert!(mapped_bytes(&fs::read_to_string("/proc/self/smaps").unwrap(), SEGMENT) >= 4 << 20);
        assert!(MemoryUse::now(None).vm_bytes > 1 << 20);
    }
}
