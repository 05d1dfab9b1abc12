//! Messages to agents whose memory lies in a pool.

use std::sync::Arc;
use std::time::Duration;

use crate::{Channel, PeerId, PoolSegment, RdmaError};

/// A channel to such an agent. A thread that calls it once the pool's memory is being freed sleeps until the process
/// ends: it must not take the end of the agent for a failure.
pub struct GatedChannel {
    inner: Arc<dyn Channel>,
    pool: Arc<PoolSegment>,
}

impl GatedChannel {
    /// Wraps a channel.
    pub fn new(inner: Arc<dyn Channel>, pool: Arc<PoolSegment>) -> GatedChannel {
        GatedChannel { inner, pool }
    }
}

impl Channel for GatedChannel {
    fn peer(&self) -> PeerId {
        self.inner.peer()
    }

    fn send(&self, notice: &[u8]) -> Result<(), RdmaError> {
        let _inside = self.pool.enter();
        self.inner.send(notice)
    }

    fn call(&self, request: &[u8], timeout: Duration) -> Result<Vec<u8>, RdmaError> {
        let _inside = self.pool.enter();
        self.inner.call(request, timeout)
    }

    fn is_alive(&self) -> bool {
        self.inner.is_alive()
    }
}
