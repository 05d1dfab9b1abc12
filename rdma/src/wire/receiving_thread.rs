//! The thread that receives for a channel.

use std::sync::Mutex;
use std::thread::{self, JoinHandle};

use crate::wire::conversation::lock;
use crate::{PeerId, RdmaError};

/// At most one thread, which its channel starts and, when dropped, waits for.
#[derive(Default)]
pub struct ReceivingThread(Mutex<Option<JoinHandle<()>>>);

impl ReceivingThread {
    /// Starts it, once.
    pub fn start(
        &self,
        peer: PeerId,
        receive: impl FnOnce() + Send + 'static,
    ) -> Result<(), RdmaError> {
        let mut running = lock(&self.0);
        assert!(running.is_none(), "a channel is started once");
        let thread = thread::Builder::new()
            .name(format!("rdma {peer}"))
            .spawn(receive)
            .map_err(|source| RdmaError::Os { what: "starting a receiving thread", source })?;
        *running = Some(thread);
        Ok(())
    }

    /// Waits for its end, which the caller has seen to.
    pub fn join(&self) {
        let running = lock(&self.0).take();
        let Some(thread) = running else { return };
        // The last owner of a channel may be a service method, which runs on that very thread.
        if thread.thread().id() != thread::current().id() {
            // A receiving thread that panicked has printed why; the process aborts on panic anyway.
            let _ = thread.join();
        }
    }
}
