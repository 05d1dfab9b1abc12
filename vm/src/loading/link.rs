//! Linking: verification and method tables (JVMS 5.4). Preparation needs nothing: statics are zero from birth.

use super::tables;
use crate::machine::JavaThread;
use crate::runtime::klass::state;
use crate::runtime::{JResult, KlassRef};
use std::sync::atomic::Ordering;

/// Links a class and its supertypes. Several threads may link one class at once: each step is idempotent.
/// A safepoint.
pub fn link(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.is_linked() {
        return Ok(());
    }
    let instance = klass.inst();
    for supertype in klass.super_klass.into_iter().chain(instance.interfaces.iter().copied()) {
        link(t, supertype)?;
    }
    super::verify::verify(t, klass)?;
    super::constraints::check_tables(t, klass)?;
    if klass.vtable.get().is_none() {
        tables::build_vtable(klass);
    }
    let order = (Ordering::AcqRel, Ordering::Relaxed);
    let _ = instance.state.compare_exchange(state::LOADED, state::LINKED, order.0, order.1);
    Ok(())
}
