//! Oop maps: which slots of an interpreter frame hold references at an instruction.
//!
//! Class files do not say it (a `StackMapTable` has types only where control flow joins, and old
//! class files have none), and slots have no tags. So the collector asks this module, whose answer
//! comes from interpreting the method abstractly, with three kinds of values: a reference, the
//! return address of a `jsr`, and everything else.
//!
//! 1. Once per method, [`flow`] finds the kinds at every block start, to a fixed point.
//! 2. Per instruction asked for, the block is replayed up to it. The result is cached.
//!
//! Invariants:
//! * A slot called a reference holds null or an object on every path to the instruction, an object
//!   whose constructor has not run included. Where paths disagree, the slot is not a reference; no
//!   verified code reads it as one afterwards.
//! * Slots are the interpreter's: long and double take two, neither of which is a reference.
//! * A `jsr` return address is the bci behind the `jsr`, stored as a number in its slot. Inside a
//!   subroutine a variable may be a reference for one caller and a number for another. States with
//!   different return addresses are therefore kept apart, and the frame's own slots say which.
//!
//! No function of this module runs Java, loads classes, or waits for anything but the cache's lock:
//! it may be used in a pause, by several collector threads. Malformed code is an error, never a
//! panic.

pub mod effect;
mod flow;
mod frame_state;
mod map;
#[cfg(test)]
mod tests;

pub use map::OopMap;

use crate::symbol::Symbol;
use crate::{ConstantPool, ExceptionHandler};
use flow::Blocks;
use parking_lot::RwLock;
use rustc_hash::FxHashMap;
use std::fmt;
use std::sync::{Arc, OnceLock};

/// The properties of a method that are needed to find its references.
#[derive(Clone, Copy, Debug)]
pub struct MethodShape<'a> {
    /// As in the class file: not the interpreter's rewritten copy.
    pub bytecode: &'a [u8],
    pub exception_table: &'a [ExceptionHandler],
    pub max_locals: u16,
    pub max_stack: u16,
    pub pool: &'a ConstantPool,
    pub descriptor: Symbol,
    pub is_static: bool,
}

/// Why there is no map: the code is not such as a verifier accepts, or the instruction is never
/// reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoMap {
    /// Where the analysis stopped.
    pub bci: usize,
    pub reason: &'static str,
}

impl fmt::Display for NoMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no oop map at bci {}: {}", self.bci, self.reason)
    }
}

impl std::error::Error for NoMap {}

/// The maps of one method. Empty until first asked; any thread.
#[derive(Debug, Default)]
pub struct MethodOopMaps {
    blocks: OnceLock<Result<Blocks, NoMap>>,
    maps: RwLock<FxHashMap<u16, Arc<OopMap>>>,
}

impl MethodOopMaps {
    pub const fn new() -> MethodOopMaps {
        MethodOopMaps {
            blocks: OnceLock::new(),
            maps: RwLock::new(FxHashMap::with_hasher(rustc_hash::FxBuildHasher)),
        }
    }

    /// The map *before* the instruction at `bci` is executed: a call's arguments are on the stack.
    /// `slot` reads a slot of the frame asked about, locals first, then the stack from its bottom;
    /// it is called only inside of `jsr` subroutines, and only for slots that hold no reference.
    ///
    /// `shape` must be the same at each call.
    pub fn map_at(
        &self,
        shape: &MethodShape,
        bci: u16,
        slot: impl Fn(usize) -> u64,
    ) -> Result<Arc<OopMap>, NoMap> {
        if let Some(map) = self.maps.read().get(&bci) {
            return Ok(map.clone());
        }
        let blocks = self.blocks.get_or_init(|| Blocks::compute(shape));
        let (state, is_only) =
            blocks.as_ref().map_err(|&error| error)?.state_at(shape, bci, slot)?;
        let map = Arc::new(OopMap::new(shape, bci, &state));
        if is_only {
            self.maps.write().insert(bci, map.clone());
        }
        Ok(map)
    }
}
