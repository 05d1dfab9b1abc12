//! The native half of the Java module `farheap.pool`: maps and channels between the JVMs of a machine.
//!
//! A Java object has the address of a native one in its handle. The handle is freed when the Java object is
//! unreachable, not by `close()`, and every native method is an instance method of the object that has it: so no call
//! finds freed memory, whatever a program does. `close()` takes the content out of the native object, and later calls
//! find it closed.
//!
//! From the bottom: `failure` is what becomes an exception, `jni` the border to Java, `directory` finds channels by
//! name, `window` maps memory a second time, `core` is a mapping with its layers, `message` an object that Java sees by
//! a buffer, `wait` sleeps until another process has done something, `channel` has the ends of channels, `map` the
//! maps, `shared` is a pool that is open with the clients of this process, and `natives` are the functions that Java
//! calls.
//!
//! ```text
//!   Java:    SharedPool      ChannelSender, ChannelReceiver     SharedBuffer
//!                |                        |                          |
//!   native:   Shared                     End <------------------- Message
//!             |    |                      |                          |
//!             |  stripes: clients       client                 a counted object
//!             +----+---------> Core <-----+
//!                     the mapping, the heap, the layer of counted objects
//! ```
//!
//! 1. A client of the pool is used by one thread at a time: each is under a lock of its own. Threads spread over some
//!    stripes, and a thread that finds a stripe busy takes another one; if all are busy it waits for its own. An end of
//!    a channel has a client of its own.
//! 2. No call holds a Java array, so none delays a garbage collection. Nor does one wait for another process: such
//!    waits are loops in Java over calls of 20 ms at most. A call takes time in proportion to what it copies. Those
//!    that make, clear or destroy a map take time in proportion to its table and entries, which may be seconds; the
//!    client is busy meanwhile.
//! 3. A panic never crosses the border: it becomes an exception, and the client that it met is used no more. What that
//!    client has is recovered when this process has ended.
//! 4. One thread of each open pool recovers the dead of other processes, every 100 ms, and lets go of maps that others
//!    have destroyed. It never enters the JVM.

mod channel;
mod core;
mod directory;
mod failure;
mod jni;
mod map;
mod message;
mod natives;
mod shared;
mod wait;
mod window;
