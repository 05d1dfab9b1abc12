//! Injected latency and bandwidth for one-sided operations.

use std::sync::Arc;
use std::time::Duration;

use crate::Segment;

/// A segment behind a slower network: every operation takes at least `latency`, and the bytes of all operations
/// together at most `bandwidth` bytes per second (0 = no limit).
pub struct Throttled {
    _inner: Arc<dyn Segment>,
}

impl Throttled {
    /// Wraps a segment.
    pub fn new(inner: Arc<dyn Segment>, _latency: Duration, _bandwidth: u64) -> Throttled {
        Throttled { _inner: inner }
    }
}
