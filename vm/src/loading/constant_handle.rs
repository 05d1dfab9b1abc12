//! What compiled code may know of the method handles, `VarHandle`s and field updaters in static final fields.

use super::{holders, member};
use crate::machine::JavaThread;
use crate::runtime::constant_handle::{Call, ConstantHandle, Part};
use crate::runtime::klass::Settling;
use crate::runtime::{ClassHolder, Field, KlassRef, object, slots};
use classfile::BasicType;
use gc::object::ObjectRef;

/// What is known of an object that is the value of a static final field of a class of `holder`; `None` if the object is
/// no handle. The thread runs Java code; no safepoint.
pub fn of(
    t: &JavaThread,
    object: ObjectRef,
    holder: &'static ClassHolder,
) -> Option<ConstantHandle> {
    if object.is_null() {
        return None;
    }
    let klass = t.klass_of(object);
    let classes = &t.vm.known.classes;
    let call = if klass.is_subtype_of(classes.method_handle()) {
        member::form_entry(t, object).map_or(Call::Indirect, Call::Form)
    } else if klass.is_subtype_of(classes.var_handle()) {
        var_handle_call(t, object, klass)
    } else if is_updater(klass) {
        Call::Indirect
    } else {
        return None;
    };
    // Until all that the handle leads to is kept, none of it is unloaded.
    let _hold = t.vm.unloading.hold();
    let is_kept = |klass: KlassRef| holders::depend(t, holder, klass);
    let call = match call {
        Call::Form(entry) if !is_kept(entry.holder) => Call::Indirect,
        Call::Accessors(klass) if !is_kept(klass) => Call::Indirect,
        call => call,
    };
    let supers = std::iter::successors(Some(klass), |klass| klass.super_klass);
    let fields = supers.flat_map(|klass| klass.fields().iter().copied());
    let fields = fields.filter(|field| is_constant(field)).filter_map(|field| {
        let part = part_of(t, object, field)?;
        let is_kept = match part {
            Part::Bits(_) => true,
            Part::Class(klass) => is_kept(klass),
            Part::Member(method) => is_kept(method.holder),
        };
        is_kept.then_some((field, part))
    });
    Some(ConstantHandle::new(klass, fields.collect(), call))
}

/// Whether objects of the class are those that `AtomicIntegerFieldUpdater.newUpdater` and its like make.
fn is_updater(klass: KlassRef) -> bool {
    let name = klass.name.bytes().strip_prefix(b"java/util/concurrent/atomic/Atomic");
    let is_named = name.is_some_and(|name| name.windows(12).any(|part| part == b"FieldUpdater"));
    is_named && klass.loader.is_boot()
}

/// Whether nothing changes the field of a handle once the handle is in a static final field.
fn is_constant(field: &Field) -> bool {
    let flags = field.info.access_flags;
    flags.is_final() && !flags.is_static() && field.settling == Settling::Always
}

fn part_of(t: &JavaThread, object: ObjectRef, field: &Field) -> Option<Part> {
    let value = slots::get(t, object, field.offset as usize, field.ty);
    let object =
        || Some(ObjectRef::from_address(value as usize)).filter(|object| !object.is_null());
    match (field.ty, field.descriptor().bytes()) {
        (BasicType::Object, b"Ljava/lang/Class;") => {
            Some(Part::Class(t.klass_of_mirror(object()?)))
        }
        (BasicType::Object, b"Ljava/lang/invoke/MemberName;") => {
            member::method_of(t, object()?).map(Part::Member)
        }
        (BasicType::Object | BasicType::Array, _) => None,
        _ => Some(Part::Bits(value)),
    }
}

/// A `VarHandle` that asks for exact types compares them at each access, and one of the library's kinds calls method
/// handles.
fn var_handle_call(t: &JavaThread, handle: ObjectRef, klass: KlassRef) -> Call {
    let base = t.vm.known.classes.var_handle();
    let is_exact = object::get::<i8>(handle, base.offset_of("exact", "Z")) != 0;
    let is_indirect = klass.name.bytes() == b"java/lang/invoke/IndirectVarHandle";
    let form = t.load_ref(handle, base.offset_of("vform", "Ljava/lang/invoke/VarForm;"));
    if is_exact || is_indirect || form.is_null() {
        return Call::Indirect;
    }
    let accessors = t.klass_of(form).offset_of("implClass", "Ljava/lang/Class;");
    let accessors = t.load_ref(form, accessors);
    if accessors.is_null() { Call::Indirect } else { Call::Accessors(t.klass_of_mirror(accessors)) }
}
