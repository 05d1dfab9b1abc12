//! The compiler tier: hot methods become machine code by way of Cranelift.
//!
//! # The idea
//!
//! Compiled code is the fast path of a method; the interpreter is everything else. Every rare case (an exception
//! thrown or caught, a constant that is not resolved, a class that is not initialized, code that was never reached)
//! is a *side exit*: the compiled function stores the state of its frames, the runtime builds interpreter frames of
//! it, the interpreter executes the rest of the method, and the compiled function returns the interpreter's result.
//! So compiled code holds no exception tables, no resolution, and never needs to be undone.
//!
//! A method is compiled quickly at first; that code counts on, and what is hot is compiled once more, better
//! ([`Tier`](crate::runtime::code::body::Tier)).
//!
//! # The parts
//!
//! * [`translate`]: bytecode to Cranelift's IR, with inlining; its result is a
//!   [`Body`](crate::runtime::code::body::Body).
//! * [`code`](crate::runtime::code): the description of compiled code: safepoints by return address, side exits.
//!   Its `cache`: memory for code; which body does an address belong to. [`compile`]: from a method to a body in the
//!   cache. [`queue`]: the compiler threads. [`policy`]: counters, thresholds, when to compile and when again.
//!   [`sweep`]: freeing code; [`unload`]: that of classes that die. [`compilations`]: those in progress. `MethodJit`,
//!   [`anchor`](crate::frames::anchor): the compiler's part of methods and threads.
//! * [`single`]: barriers one by one, for tests and benchmarks.
//! * [`barrier_stubs`]: code that barriers share by a call instead of a copy at each place. [`executable`]: memory
//!   for such code.
//! * [`stubs`]: the assembly between interpreter, compiled code and Rust. [`abi`](crate::runtime::code::abi): the
//!   places of arguments.
//! * [`activation`](crate::frames::activation): stretches of compiled frames on the native stack, and walking them.
//!   [`exit`]: side exits. [`osr`]: entering a loop in the middle. [`helpers`]: the functions that compiled code
//!   calls; [`big_integer`], [`checksums`], [`string_kernels`]: inner loops of the library.
//!
//! # Calling convention
//!
//! System V, with the callee's `Method` as a hidden first argument (`rdi`), then receiver and parameters: references
//! and longs as 64-bit integers, ints and smaller as 32-bit integers of which the upper half of the register is
//! undefined, floats and doubles in vector registers. `r15` holds the `JavaThread` (Cranelift's pinned register);
//! Rust and C preserve it. Every call is through `Method::compiled`, which is never null: while a method has no code
//! of its own it is the address of `stubs::call_interpreter`, which finds the method in `rdi`.
//!
//! A function returns its value, or an undefined value with an exception pending in the thread: callers look at
//! `JavaThread::pending` after every call.
//!
//! # Safepoints
//!
//! Calls that may reach a safepoint (Java calls, and helpers but leaf ones) store the live references of all inlined
//! frames to the frame's *root slots*, an explicit stack slot of the function, and load them again afterwards; no other
//! word of a compiled frame is ever a root. The return address names a
//! [`Safepoint`](crate::runtime::code::safepoints::Safepoint), which says which root slots are live and which methods
//! at which bcis the frame stands for. Barrier slow paths reach no safepoint and need none of this.
//!
//! # Invariants
//!
//! * Code holds no object address. It does hold addresses of `Method`, `Klass` and `RootSlot`, and ids of classes. Its
//!   body lists the holders of those that can die, which keep them as long as a frame of the code is on a stack; when
//!   one dies, the code is freed ([`unload`]).
//! * While a thread runs compiled code its `top_frame` is the interpreter (or native) frame outside of it, whose `sp`
//!   bounds its live operands.
//! * A compiled frame that holds a monitor (`synchronized` method or block) says so in its side exits; the
//!   interpreter frame that takes over gives it up.

mod array_kernels;
pub mod barrier_stubs;
pub mod big_integer;
pub mod checksums;
pub mod compilations;
pub mod compile;
pub mod executable;
pub mod exit;
pub mod helpers;
pub mod osr;
pub mod perf_map;
pub mod policy;
pub mod queue;
pub mod requests;
pub mod single;
pub mod string_kernels;
pub mod stubs;
pub mod sweep;
pub mod translate;
pub mod unload;

use crate::machine::Vm;
use parking_lot::Mutex;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// The compiler tier of one VM.
pub struct Jit {
    pub cache: crate::runtime::code::cache::CodeCache,
    pub queue: queue::Queue,
    pub statistics: compile::Statistics,
    pub requests: requests::Requests,
    barrier_stubs: OnceLock<barrier_stubs::BarrierStubs>,
    /// The interpreter counts jumps backwards in steps of this size.
    pub back_edge_step: u32,
    /// Code that nothing calls any more, but that may still be on stacks.
    retired: Mutex<Vec<&'static crate::runtime::code::installed::Installed>>,
    /// Held by the threads that change the code which methods call: compiler threads, and in a stopped world the
    /// sweeper and the collector. Nobody waits for a pause with it.
    publishing: Mutex<()>,
    /// The cache has no room: all code that is not running is to be freed.
    is_full: AtomicBool,
}

impl Jit {
    pub fn new(options: &crate::options::jit::JitOptions) -> Jit {
        Jit {
            cache: crate::runtime::code::cache::CodeCache::new(options.cache_bytes),
            queue: queue::Queue::default(),
            statistics: compile::Statistics::default(),
            requests: requests::Requests::default(),
            barrier_stubs: OnceLock::new(),
            back_edge_step: policy::back_edge_step(options),
            retired: Mutex::default(),
            publishing: Mutex::default(),
            is_full: AtomicBool::new(false),
        }
    }

    /// The code that compiled code calls in place of a method without machine code: see [`stubs::call_interpreter`].
    pub fn interpreter(&self) -> *const u8 {
        (stubs::call_interpreter as *const ()).cast()
    }

    /// Those of the VM's heap, made when they are first asked for.
    pub fn barrier_stubs(&self, vm: &Vm) -> &barrier_stubs::BarrierStubs {
        self.barrier_stubs.get_or_init(|| {
            barrier_stubs::BarrierStubs::compile(vm.heap.barriers(), helpers::barrier_address)
        })
    }

    /// Whether no compilation can hold a pointer any more to what died before [`unload`](unload::unload) gave this
    /// ticket.
    pub fn is_past(&self, ticket: compilations::Ticket) -> bool {
        self.queue.is_past(ticket)
    }

    /// Counters for `--stats`.
    pub fn report(&self) -> serde_json::Value {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let statistics = &self.statistics;
        serde_json::json!({
            "compile_us": of(&statistics.total_ns) / 1000,
            "methods": of(&statistics.methods),
            "loops": of(&statistics.loops),
            "not_compiled": of(&statistics.failed),
            "code_bytes": of(&statistics.code_bytes),
            "cache_bytes": self.cache.used_bytes(),
        })
    }

    /// The VM ends: writes the files that options ask for.
    pub fn at_exit(&self, vm: &Vm) {
        if vm.options.jit.dump_perf_map
            && let Err(error) = perf_map::write(vm)
        {
            base::say(format_args!("cannot write the perf map: {error}"));
        }
    }

    /// Code was replaced: it is freed when no frame of it is left.
    fn retire(&self, vm: &'static Vm, code: &'static crate::runtime::code::installed::Installed) {
        let mut retired = self.retired.lock();
        retired.push(code);
        let bytes: usize = retired.iter().map(|body| body.bytes).sum();
        drop(retired);
        if bytes > RETIRED_BYTES_MAX {
            self.queue.sweep(vm);
        }
    }
}

/// Replaced code is freed when it takes this many bytes.
const RETIRED_BYTES_MAX: usize = 4 << 20;
