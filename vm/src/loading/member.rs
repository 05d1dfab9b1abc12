//! The methods that member names and method handles of the library stand for.

use crate::machine::JavaThread;
use crate::runtime::{MethodRef, object};
use gc::object::{KlassId, ObjectRef};

/// The method that a resolved member name points to. No safepoint.
pub fn method_of(t: &JavaThread, member: ObjectRef) -> Option<MethodRef> {
    let known = &t.vm.known.fields;
    let resolved = t.load_ref(member, known.member_method());
    if resolved.is_null() {
        return None;
    }
    let target: i64 = object::get(resolved, known.resolved_vmtarget());
    let holder = t.vm.klasses.get(KlassId((target >> 32) as u32));
    Some(holder.methods()[target as u32 as usize])
}

/// The method that `invokeBasic` of a method handle calls: the entry of its form, if that has been prepared. No
/// safepoint.
pub fn form_entry(t: &JavaThread, method_handle: ObjectRef) -> Option<MethodRef> {
    let known = &t.vm.known.fields;
    let form = t.load_ref(method_handle, known.method_handle_form());
    let entry = if form.is_null() { form } else { t.load_ref(form, known.lambda_form_entry()) };
    if entry.is_null() { None } else { method_of(t, entry) }
}
