//! The cost of the kernel and the machine alone: a fault that is served out of the process' own memory, and a round
//! trip between two CPUs.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use swap::Userfaultfd;

use super::plain::Plain;
use super::{PAGE_BYTES, Random, Report, Work, measure, timed};

/// Touches pages that are missing, each once; the handler copies them in, and does nothing else.
pub fn faults(work: Work) -> io::Result<Report> {
    let pages = work.threads * work.accesses;
    let range = Missing::new(pages)?;
    let orders: Vec<Vec<usize>> = (0..work.threads)
        .map(|thread| Random::new(work.seed + thread as u64).permutation(work.accesses))
        .collect();
    Ok(measure(work, |thread, n, _| {
        let page = thread * work.accesses + orders[thread][n];
        // SAFETY: inside the range, whose faults the handler serves.
        Some(timed(|| unsafe {
            range.address(page).read_volatile();
        }))
    }))
}

/// A range of missing pages. One in a process, for as long as it lives.
struct Missing {
    base: usize,
}

struct Served {
    userfaultfd: Userfaultfd,
    source: Plain,
}

static SERVED: OnceLock<Served> = OnceLock::new();

impl Missing {
    fn new(pages: usize) -> io::Result<Missing> {
        let bytes = pages * PAGE_BYTES;
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: a fresh mapping at an address of the system's choice.
        let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if base == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: our own mapping.
        unsafe { libc::madvise(base, bytes, libc::MADV_NOHUGEPAGE) };
        let userfaultfd =
            Userfaultfd::new(base as usize, bytes, false).map_err(io::Error::other)?;
        let served = Served { userfaultfd, source: Plain::new(1)? };
        assert!(SERVED.set(served).is_ok(), "one range in a process");
        // SAFETY: the handler has the type that SA_SIGINFO asks for; all-zero is a valid sigaction.
        unsafe {
            let mut action = std::mem::zeroed::<libc::sigaction>();
            action.sa_sigaction = on_fault as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigaction(libc::SIGBUS, &action, std::ptr::null_mut());
        }
        Ok(Missing { base: base as usize })
    }

    fn address(&self, page: usize) -> *const u8 {
        (self.base + page * PAGE_BYTES) as *const u8
    }
}

extern "C" fn on_fault(_signal: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel describes the signal.
    let address = unsafe { (*info).si_addr() } as usize;
    let page = address & !(PAGE_BYTES - 1);
    if let Some(served) = SERVED.get()
        && served.userfaultfd.copy(page, served.source.address(0), 1, false).is_ok()
    {
        return;
    }
    base::die(format_args!("a fault at {address:#x} cannot be served"));
}

/// Asks a thread on another CPU for a page, with a message of 16 bytes, and waits for it; both spin.
pub fn ring(work: Work) -> Report {
    let ring = Ring::new();
    thread::scope(|scope| {
        scope.spawn(|| ring.serve(work.accesses as u64));
        let mut page = vec![0; PAGE_BYTES / 8];
        let one = Work { threads: 1, ..work };
        let page = std::sync::Mutex::new(&mut page);
        measure(one, |_, n, random| {
            let mut page = page.lock().expect("one thread");
            Some(timed(|| ring.ask(n as u64 + 1, random.below(1 << 20) as u64, &mut page)))
        })
    })
}

/// One request at a time: its number, its argument; one reply: its number, its page.
struct Ring {
    request: [AtomicU64; 2],
    _apart: [u64; 14],
    reply: AtomicU64,
    page: Vec<AtomicU64>,
}

impl Ring {
    fn new() -> Ring {
        Ring {
            request: Default::default(),
            _apart: [0; 14],
            reply: AtomicU64::new(0),
            page: (0..PAGE_BYTES / 8).map(|_| AtomicU64::new(0)).collect(),
        }
    }

    fn serve(&self, requests: u64) {
        for number in 1..=requests {
            wait_for(&self.request[0], number);
            let argument = self.request[1].load(Ordering::Relaxed);
            self.page.iter().for_each(|word| word.store(argument, Ordering::Relaxed));
            self.reply.store(number, Ordering::Release);
        }
    }

    fn ask(&self, number: u64, argument: u64, page: &mut [u64]) {
        self.request[1].store(argument, Ordering::Relaxed);
        self.request[0].store(number, Ordering::Release);
        wait_for(&self.reply, number);
        for (to, from) in page.iter_mut().zip(&self.page) {
            *to = from.load(Ordering::Relaxed);
        }
        assert_eq!(page[0], argument, "the answer to another question");
    }
}

/// Spins; on a machine with one CPU it yields now and then.
fn wait_for(word: &AtomicU64, value: u64) {
    let mut spins = 0_u32;
    while word.load(Ordering::Acquire) != value {
        std::hint::spin_loop();
        spins += 1;
        if spins.is_multiple_of(1 << 14) {
            thread::yield_now();
        }
    }
}
