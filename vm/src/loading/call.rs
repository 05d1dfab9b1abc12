//! Calling methods of the library by name.

use super::{initialize, resolve};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, MethodRef};
use classfile::symbol::Symbol;

/// A declared or inherited method that the library must have; panics with its name when it does not.
pub fn find(klass: KlassRef, name: &str, descriptor: &str) -> MethodRef {
    let found = klass.find_method(Symbol::of(name), Symbol::of(descriptor));
    found.unwrap_or_else(|| panic!("no method {klass:?}.{name}{descriptor}"))
}

/// Calls a static method, initializing its class. Arguments are slots as in [`JavaThread::call`].
pub fn call_static(
    t: &JavaThread,
    klass: KlassRef,
    name: &str,
    descriptor: &str,
    arguments: &[u64],
) -> JResult<u64> {
    debug_assert!(
        klass.is_initialized() || !descriptor.contains(['L', '[']),
        "initialization is a safepoint: initialize before loading arguments"
    );
    initialize::initialize(t, klass)?;
    t.call(find(klass, name, descriptor), arguments)
}

/// Calls a method on a receiver by virtual dispatch; the receiver is not among `arguments`.
pub fn call_virtual(
    t: &JavaThread,
    receiver: Handle,
    name: &str,
    descriptor: &str,
    arguments: &[Handle],
) -> JResult<u64> {
    let klass = t.klass_of(receiver.get());
    let declared = find(klass, name, descriptor);
    let method = resolve::select_virtual(declared, klass);
    let slots: Vec<u64> = std::iter::once(receiver)
        .chain(arguments.iter().copied())
        .map(|handle| handle.get().address() as u64)
        .collect();
    t.call(method, &slots)
}
