//! Class initialization (JVMS 5.5).

use crate::runtime::{JResult, JavaThread, KlassRef};

/// Links and initializes a class, waiting for another thread that does so. A safepoint.
pub fn initialize(_t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.is_initialized() {
        return Ok(());
    }
    panic!("initialize({klass:?})")
}
