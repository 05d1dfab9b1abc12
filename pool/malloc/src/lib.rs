//! `libfarheap_malloc.so`: `malloc` and its kin out of a pool, for programs that know nothing of it.
//!
//! ```text
//!   LD_PRELOAD=libfarheap_malloc.so program
//! ```
//!
//! The pool is private memory of the process (`Backing::Private`): sparse, and in no file, so that a program that
//! closes all its descriptors does not close it.
//!
//! # Phases
//!
//! 1. **Before the start** (`below`). Until the library's constructor has made the pool, and always for Rust code of
//!    this library itself, memory comes from the C library's own allocator, by the names under which it is not
//!    interposed. Such blocks are recognised by their address, and are given back to it whenever they are freed.
//! 2. **Use** (`calls`, `seats`). A thread has a *seat*: a client of the heap that it alone uses, so the usual path has
//!    no atomic instruction. It says that it is inside by one word of the seat. When the thread ends, its free memory
//!    goes to the heap, its used blocks stay, and the seat is the next thread's.
//!    A seat keeps some freed blocks for itself (`cache`).
//! 3. **Without a seat.** There are eight seats that all share, each under a lock: for threads above the number of
//!    identities, for what runs in a thread after it has left its seat, and for signal handlers that interrupt the
//!    allocator. Waiting for one is limited, too: then new blocks are the C library's, and a freed one is lost.
//! 4. **Fork** (`fork`). The child has a copy of the pool, as of all its memory. `fork` waits until no other thread is
//!    inside, for 100 ms or little more; so no operation is half done in the copy. Threads that fork at the same time
//!    do so one after the other. In the child, the seats of the threads that it
//!    has not are free for others. A thread that stays inside for so long, because it was stopped there, loses its
//!    seat in the child: nobody uses it, others free its blocks, and only its free memory is lost. The heap's
//!    operations wait for nobody.
//!
//! # Invariants
//!
//! * A seat is used by the thread that set its `busy` word, and by no other.
//! * Nothing here allocates by a name that is interposed.
//! * A huge block of the heap is zero: private memory is zeroed when it is freed. One that a seat has kept is not.
//! * A pointer into the pool that begins no block is inside of a huge block, or none of ours.

#[cfg(not(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu")))]
compile_error!("the library takes the place of glibc's functions, on x86-64");

mod below;
mod cache;
mod calls;
mod fork;
mod ground;
mod seats;
mod start;
mod thread;
