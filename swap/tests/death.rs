//! Errors that end the process: one line on stderr, exit code 1. This program starts itself for
//! each way to die.

use std::env;
use std::process::Command;
use std::sync::Arc;

use rdma::{PeerId, Segment, ShmSegment};
use swap::{PAGE_BYTES, Page, PageRange, Pager, PagerOptions, SwapError};

const PAGES: usize = 4096;

fn main() {
    if let Some(how) = env::args().nth(1).filter(|argument| argument.starts_with("die-")) {
        die(&how);
        println!("still alive after {how}");
        return;
    }
    dies("die-fetching", 1, "farheap: page 5 cannot be fetched: connection to memory server 0");
    dies("die-evicting", 1, "pages cannot be written: connection to memory server 0 is lost");
    // A fault that is not the pager's is left to the kernel.
    let status = run("die-elsewhere").status;
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(libc::SIGBUS));
    println!("death: ok");
}

fn dies(how: &str, code: i32, message: &str) {
    let output = run(how);
    let stderr = String::from_utf8_lossy(&output.stderr);
    if stderr.contains("skipped") {
        eprint!("{stderr}");
        return;
    }
    assert_eq!(output.status.code(), Some(code), "{how}: {stderr}");
    assert!(stderr.contains(message) && stderr.lines().count() == 1, "{how}: {stderr}");
}

fn run(how: &str) -> std::process::Output {
    Command::new(env::current_exe().unwrap()).arg(how).output().unwrap()
}

fn die(how: &str) {
    let bytes = (PAGES * PAGE_BYTES) as u64;
    let segment = Arc::new(ShmSegment::create(PeerId::Server(0), bytes).unwrap());
    let options = PagerOptions {
        far_bytes: PAGES * PAGE_BYTES,
        budget_bytes: 256 * PAGE_BYTES,
        ..PagerOptions::default()
    };
    let pager = match Pager::new(options, vec![segment.clone() as Arc<dyn Segment>]) {
        Err(error @ SwapError::Userfaultfd { .. }) => {
            eprintln!("skipped: {error}");
            std::process::exit(77);
        }
        pager => pager.unwrap(),
    };
    // SAFETY: inside the far space; no other thread uses it.
    let write = |page| unsafe { pager.address(Page(page)).write_volatile(1) };
    write(5);
    match how {
        "die-fetching" => {
            pager.evict(PageRange::new(Page(0), 64));
            segment.mark_dead();
            write(5);
        }
        "die-evicting" => {
            segment.mark_dead();
            (0..PAGES).for_each(write);
        }
        "die-elsewhere" => {
            // SAFETY: reading past the end of a file raises the signal that is wanted.
            unsafe {
                let fd = libc::memfd_create(c"empty".as_ptr(), 0);
                let map = libc::mmap(
                    std::ptr::null_mut(),
                    PAGE_BYTES,
                    libc::PROT_READ,
                    libc::MAP_SHARED,
                    fd,
                    0,
                );
                map.cast::<u8>().read_volatile();
            }
        }
        _ => panic!("no such way to die: {how}"),
    }
}
