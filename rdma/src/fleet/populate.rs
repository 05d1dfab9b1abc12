//! A server's thread that populates parts of its segment for a VM on the same machine: see [`Grants`].

use std::io;
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use base::Container;

use crate::memory::grants::Grants;
use crate::{RdmaError, Refusal, Segment, ShmSegment};

/// Starts the thread, which ends with the segment.
pub fn start(grants: Arc<Grants>, segment: &Arc<ShmSegment>) -> Result<(), RdmaError> {
    let (segment, bytes) = (Arc::downgrade(segment), segment.bytes());
    let mut populator = Populator::new(segment, Container::of_this_process());
    let body = move || {
        while populator.segment.strong_count() > 0 {
            grants.answer(bytes, CHECK_INTERVAL, |offset, bytes| populator.populate(offset, bytes));
        }
    };
    let thread = thread::Builder::new().name("populate".into()).spawn(body);
    let started = thread.map_err(|source| RdmaError::Os { what: "starting a thread", source });
    started.map(|_| ())
}

struct Populator {
    segment: Weak<ShmSegment>,
    container: Container,
    /// Bytes that may be populated before the container's limit is looked at again.
    credit: u64,
    /// A refusal was reported.
    is_reported: bool,
}

impl Populator {
    fn new(segment: Weak<ShmSegment>, container: Container) -> Populator {
        Populator { segment, container, credit: 0, is_reported: false }
    }

    /// Touches the pages of a part, unless the container has no memory for them: the system would end this process.
    fn populate(&mut self, offset: u64, bytes: u64) -> Result<(), Refusal> {
        let populated = self.check(bytes).and_then(|()| self.touch(offset, bytes));
        if let Err(refusal) = &populated
            && !self.is_reported
        {
            log::warn!("{} KiB more for a VM are refused: {refusal}", bytes >> 10);
            self.is_reported = true;
        }
        populated
    }

    fn check(&mut self, bytes: u64) -> Result<(), Refusal> {
        if self.credit < bytes {
            self.credit = match self.container.memory_room() {
                None => CREDIT_BYTES_MAX,
                Some(room) if room.bytes < RESERVE_BYTES + bytes => {
                    let limit = room.limit.bytes;
                    return Err(Refusal::ContainerFull { limit, used: limit - room.bytes });
                }
                // Other processes of the container take memory meanwhile.
                Some(room) => ((room.bytes - RESERVE_BYTES) / 8).clamp(bytes, CREDIT_BYTES_MAX),
            };
        }
        self.credit -= bytes;
        Ok(())
    }

    fn touch(&self, offset: u64, bytes: u64) -> Result<(), Refusal> {
        let Some(segment) = self.segment.upgrade() else { return Ok(()) };
        segment.populate(offset, bytes).map_err(|error: io::Error| Refusal::System {
            error: error.raw_os_error().unwrap_or(libc::ENOMEM),
        })
    }
}

/// Memory of the container that is kept for the server itself: tables of its agent, threads, messages.
const RESERVE_BYTES: u64 = 16 << 20;
const CREDIT_BYTES_MAX: u64 = 256 << 20;
/// How often the thread looks whether the session has ended.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::PeerId;

    #[test]
    fn parts_are_populated_while_the_container_has_memory() {
        let root = std::env::temp_dir().join(format!("populate-{}", std::process::id()));
        let group = root.join("sys/fs/cgroup");
        fs::create_dir_all(&group).unwrap();
        fs::create_dir_all(root.join("proc/self")).unwrap();
        fs::write(root.join("proc/self/cgroup"), "0::/\n").unwrap();
        let mount = "30 23 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        fs::write(root.join("proc/self/mountinfo"), mount).unwrap();
        fs::write(group.join("memory.max"), "104857600\n").unwrap();
        let use_bytes = |bytes: u64| fs::write(group.join("memory.current"), bytes.to_string());
        use_bytes(0).unwrap();
        let segment = Arc::new(ShmSegment::create(PeerId::Server(0), 1 << 30).unwrap());
        let container = Container::below(&root);
        let mut populator = Populator::new(Arc::downgrade(&segment), container);
        const PART: u64 = 256 << 10;
        assert_eq!(populator.populate(PART, PART), Ok(()));
        assert_eq!(segment.allocated_bytes(0, 1 << 30), PART);
        assert_eq!(segment.allocated_bytes(PART, PART), PART);
        use_bytes(100 << 20).unwrap();
        let mut granted = 1;
        let refused = loop {
            match populator.populate(granted * PART, PART) {
                Ok(()) => granted += 1,
                Err(refusal) => break refusal,
            }
        };
        assert!(granted * PART <= (84 << 20) / 8 + PART, "{granted}");
        assert_eq!(refused, Refusal::ContainerFull { limit: 100 << 20, used: 100 << 20 });
        use_bytes(50 << 20).unwrap();
        assert_eq!(populator.populate(0, PART), Ok(()));
        fs::remove_dir_all(root).unwrap();
    }
}
