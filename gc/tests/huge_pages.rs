//! `UseTransparentHugePages`: where the whole heap is local, the system is asked for pages of 2 MB.

mod support;

use gc::options::{CollectorKind, HeapOptions};
use support::{TestThread, TestVm};

/// Whether the mapping that holds the first object is one for huge pages (`VmFlags` in `proc(5)`).
fn is_for_huge_pages(huge_pages: bool) -> bool {
    let options =
        HeapOptions { collector: CollectorKind::G1, huge_pages, ..HeapOptions::default() };
    let vm = TestVm::new(&HeapOptions { max_bytes: 64 << 20, ..options });
    let thread = TestThread::attach(&vm, 1);
    let at = thread.new_node(&vm, 2).unwrap().address();
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap();
    let mut is_inside = false;
    for line in maps.lines() {
        let range = line.split(' ').next().and_then(|word| word.split_once('-'));
        let address = |text| usize::from_str_radix(text, 16).ok();
        if let Some((Some(start), Some(end))) = range.map(|(a, b)| (address(a), address(b))) {
            is_inside = (start..end).contains(&at);
        } else if is_inside && let Some(flags) = line.strip_prefix("VmFlags:") {
            thread.detach(&vm);
            return flags.split_whitespace().any(|flag| flag == "hg");
        }
    }
    panic!("no mapping has {at:#x}");
}

#[test]
fn a_local_heap_has_huge_pages_if_it_is_to_have_them() {
    if !std::path::Path::new("/sys/kernel/mm/transparent_hugepage").exists() {
        eprintln!("skipped: this system has no huge pages");
        return;
    }
    assert!(is_for_huge_pages(true) && !is_for_huge_pages(false));
}
