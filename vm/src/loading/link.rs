//! Linking: verification, method tables, rewriting (JVMS 5.4).

use crate::runtime::{JResult, JavaThread, KlassRef};

/// Links a class and its supertypes. A safepoint.
pub fn link(_t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.is_linked() {
        return Ok(());
    }
    panic!("link({klass:?})")
}
