//! `libfarheap_preload.so`: far memory for a program that knows nothing of it.
//!
//! The command `far-run` has the dynamic linker load this library before all others, so that the
//! program's calls of `mmap` and its kin reach it. A large reservation becomes far memory, served by the pager of the
//! crate `swap`; everything else is passed on unchanged.
//!
//! # Phases
//!
//! 1. **Start** (`process_calls`). Before `main` the library reads its settings from one
//!    environment variable and, in a JVM, the size of the heap from the command line.
//! 2. **Recognition** (`recognise`). HotSpot reserves its heap by one `mmap` without access, at an
//!    address of its choice, as long as `-Xmx` says. Such a mapping becomes a *candidate*. HotSpot may
//!    give it back, trim it and try another address.
//! 3. **The range becomes far** (`ranges`, `far_range`) when a part of it is first made accessible.
//!    Now the memory servers are started, the pager takes the mapping over (`PagerOptions::at`), and
//!    SIGBUS becomes the pager's (`signals`). The environment forgets the library (`environment`):
//!    children are none of its business.
//! 4. **Use**. Faults are the pager's; the library has no part in them. Calls that change mappings
//!    inside of the range are done by other means (`mapping_calls`):
//!
//! | the program calls | in the range that is |
//! |---|---|
//! | `mmap(MAP_FIXED)` with access: HotSpot commits | zeros, and `mprotect` |
//! | `mmap(MAP_FIXED)` without: HotSpot uncommits | zeros, and `mprotect` |
//! | `mmap(MAP_FIXED)` of a file: HotSpot's archived objects | the file's bytes are copied in |
//! | `mprotect` | the same; pages that may not be read any more are evicted first |
//! | `madvise(MADV_DONTNEED)`, `MADV_FREE` | zeros |
//! | `munmap` of a part | zeros without access; the addresses stay the range's |
//! | `munmap` of the whole | the pager and its servers end |
//! | `mremap` | a copy, if it has to grow |
//! | `read`, `write`, `recv`, `sendmsg`, ... with a buffer in it | through a local copy (`io_calls`) |
//! | `sigaction(SIGBUS)` | sets the handler that the pager passes on to |
//! | blocking SIGBUS | left out |
//!
//! 5. **The end**. Counters are written, if asked for. Servers end with the process, however it ends.
//!
//! # Invariants
//!
//! * A page that the program may not read is not in local memory (`far_range`).
//! * The library's own calls are not interposed (`inside`), and code in the fault handler or on the pager's threads
//!   calls nothing that is interposed for far ranges, except by system calls.
//! * Nothing is allocated in an interposed function unless a range is made or ended: programs map and write where
//!   they may not allocate.
//!
//! # What does not work
//!
//! * ZGC (it maps shared memory several times), large pages, memory that is locked.
//! * A forked child that goes on using the range instead of starting another program.
//! * System calls on far memory that do not come through the C library's functions above (see
//!   `io_calls`), locks of the kernel (futexes) in far memory among them.
//! * `malloc` of the C library calls its own `mmap`, which cannot be interposed.

// Output goes through `base::say` and its like, which do not panic.
#![deny(clippy::print_stdout, clippy::print_stderr)]

mod bounce;
mod environment;
mod far_range;
mod inside;
mod io_calls;
mod java;
mod mapping_calls;
mod page_bits;
mod process_calls;
mod ranges;
mod real;
mod recognise;
// One side writes them, the other reads them.
#[allow(dead_code)]
mod settings;
mod signals;
mod stats;
