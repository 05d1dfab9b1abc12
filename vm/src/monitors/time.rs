//! Deadlines.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The deadline this many milliseconds from now; `None`: never.
pub fn after_millis(millis: i64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_millis(millis.max(0) as u64))
}

/// The deadline this many nanoseconds from now.
pub fn after_nanos(nanos: i64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_nanos(nanos.max(0) as u64))
}

/// The deadline at a time of the wall clock, milliseconds since 1970.
pub fn at_millis(millis: i64) -> Option<Instant> {
    let at = UNIX_EPOCH.checked_add(Duration::from_millis(millis.max(0) as u64))?;
    let from_now = at.duration_since(SystemTime::now()).unwrap_or_default();
    Instant::now().checked_add(from_now)
}
