//! Inspectors are shown every reachable object once, and can follow references, under every collector.

mod support;

use gc::core::inspection::{Inspector, Objects, StoppedHeap};
use gc::core::outcome::CollectCause;
use gc::object::ObjectRef;
use gc::options::{Configuration, HeapOptions, LocalMemory};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use support::{TestThread, TestVm};

const HEAP_BYTES: usize = 32 << 20;
const LENGTH: usize = 5000;

/// Notes the id of each object with that of the one that its first slot refers to.
#[derive(Default)]
struct Links {
    /// Makes it one that may be shown the objects after the pause.
    file: Option<File>,
    slot: usize,
    begun: usize,
    ended: usize,
    next: BTreeMap<u64, u64>,
    shown_twice: usize,
    bytes: usize,
}

impl Inspector for Links {
    fn snapshot_file(&mut self) -> Option<File> {
        self.file.take()
    }

    fn failed(&mut self, error: io::Error) {
        panic!("{error}");
    }

    fn begin(&mut self, _heap: &StoppedHeap<'_>) {
        assert!(self.next.is_empty() && self.ended == 0);
        self.begun += 1;
    }

    fn object(&mut self, objects: &Objects<'_>, object: ObjectRef) {
        let next = objects.id_at(object, self.slot);
        self.shown_twice += self.next.insert(objects.id(object), next).iter().len();
        self.bytes += objects.object_bytes(object);
    }

    fn end(&mut self, _heap: &StoppedHeap<'_>) {
        self.ended += 1;
    }
}

fn file_in_memory() -> File {
    // SAFETY: a new file, which nobody else has.
    unsafe {
        let file = libc::memfd_create(c"snapshot".as_ptr(), libc::MFD_CLOEXEC);
        assert!(file >= 0, "{}", io::Error::last_os_error());
        OwnedFd::from_raw_fd(file).into()
    }
}

#[test]
fn a_list_is_shown_with_its_links() {
    for kind in Configuration::all() {
        for local_memory in [100, 25].map(LocalMemory::Percent) {
            let name = kind.name();
            let makes_snapshots = kind.uses_table();
            let options = HeapOptions { local_memory, ..kind.options(HEAP_BYTES) };
            let vm = TestVm::new(&options);
            let thread = TestThread::attach(&vm, 1);
            let slot = vm.classes.slot(0);
            for _ in 0..LENGTH {
                let node = thread.new_node(&vm, 2).unwrap();
                let next = thread.roots[0].get();
                vm.heap.barriers().store_initial(&thread.m, node, slot, next);
                thread.roots[0].set(node);
                // Garbage between them.
                thread.new_node(&vm, 2).unwrap();
                thread.poll(&vm);
            }
            let beside = [false, true].map(|has_file| (CollectCause::HeapDump, has_file));
            for (cause, has_file) in
                beside.into_iter().chain([(CollectCause::HeapInspection, false)])
            {
                let file = has_file.then(file_in_memory);
                let links = Links { slot, file, ..Links::default() };
                let links = vm.heap.inspect(&thread.m, cause, links).unwrap();
                // A walk in the pause has an end.
                let ends = usize::from(!(has_file && makes_snapshots));
                assert_eq!((links.begun, links.ended, links.shown_twice), (1, ends, 0), "{name}");
                assert_eq!(links.next.len(), LENGTH, "{name}");
                assert_eq!(links.bytes, LENGTH * vm.classes.node_bytes(2), "{name}");
                let inner: BTreeSet<&u64> = links.next.values().collect();
                let first = links.next.keys().find(|at| !inner.contains(at));
                let chain = std::iter::successors(first.copied(), |at| {
                    Some(links.next[at]).filter(|next| *next != 0)
                });
                assert_eq!(chain.count(), LENGTH, "{name}");
            }
            thread.detach(&vm);
        }
    }
}
