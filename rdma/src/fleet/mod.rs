//! The memory servers of one VM as a whole, over any transport: starting and serving them, replacing those that are
//! lost, and two copies of everything.

mod full_pool;
#[cfg(not(loom))]
mod gated;
pub mod mirrored;
pub mod only_memory;
mod placement;
mod populate;
pub mod seat;
pub mod server;
pub mod spawn;
pub mod transport;
pub mod upgrade;
