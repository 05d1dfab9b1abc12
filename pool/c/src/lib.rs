//! The pool for programs in C: `include/farheap_pool.h`, which is the documentation.
//!
//! `failure` turns errors into codes, `handle` has what C has pointers to, and `calls` are the functions.
//!
//! * No panic crosses the interface. It becomes `-ENOTRECOVERABLE`, and the client that it met is used no more: what it
//!   has is recovered when this process has ended. For that the library is built to unwind (the profile `java`).
//! * A client borrows from its pool's heap, the heap from the mapping. The pool counts its clients, and is not closed
//!   before the last one has left.
//! * A client has a lock of one word, which is never waited for.

mod calls;
mod failure;
mod handle;
