//! Finding the slots of an object.

use crate::object::layout::{KlassLayout, ReferenceFields, ReferenceKind};
use crate::object::{KlassId, ObjectRef};
use std::sync::atomic::{AtomicU32, Ordering};

/// Calls `slot` with the offset of every ordinary reference slot of `object`: all but the referent and the
/// discovered field of `java.lang.ref.Reference`s.
#[inline]
pub fn for_each_slot(
    layout: &KlassLayout,
    object: ObjectRef,
    slot_bytes: usize,
    mut slot: impl FnMut(usize),
) {
    match layout {
        KlassLayout::Instance { refs, .. } => refs.iter().for_each(|at| slot(*at as usize)),
        KlassLayout::Mirror { refs, statics_start, static_refs_at, .. } => {
            refs.iter().for_each(|at| slot(*at as usize));
            let count = mirror_i32(object, *static_refs_at) as usize;
            (0..count).for_each(|i| slot(*statics_start as usize + i * slot_bytes));
        }
        KlassLayout::ObjectArray { base } => {
            let length = object.array_length();
            (0..length).for_each(|i| slot(*base as usize + i * slot_bytes));
        }
        KlassLayout::PrimitiveArray { .. } => {}
    }
}

/// As [`for_each_slot`], with the referent and the discovered field.
#[inline]
pub fn for_every_slot(
    layout: &KlassLayout,
    object: ObjectRef,
    slot_bytes: usize,
    fields: Option<&ReferenceFields>,
    mut slot: impl FnMut(usize),
) {
    for_each_slot(layout, object, slot_bytes, &mut slot);
    if reference_kind(layout) != ReferenceKind::Strong {
        let fields = fields.expect("the VM tells the fields before it makes a reference");
        slot(fields.referent as usize);
        slot(fields.discovered as usize);
    }
}

/// Whether objects of this layout are `java.lang.ref.Reference`s, and of which kind.
#[inline]
pub fn reference_kind(layout: &KlassLayout) -> ReferenceKind {
    match layout {
        KlassLayout::Instance { kind, .. } => *kind,
        _ => ReferenceKind::Strong,
    }
}

/// The class that a mirror stands for, if it is known yet. `klass_id_at` is of the mirrors' layout.
#[inline]
pub fn mirrored_klass(mirror: ObjectRef, klass_id_at: u32) -> Option<KlassId> {
    let field = (mirror.address() + klass_id_at as usize) as *mut u32;
    // SAFETY: the object is a mirror, whose i32 field a thread may be setting.
    let id = unsafe { AtomicU32::from_ptr(field) }.load(Ordering::Relaxed);
    (id != 0).then_some(KlassId(id))
}

fn mirror_i32(mirror: ObjectRef, offset: u32) -> i32 {
    // SAFETY: the object is a mirror, whose i32 fields the VM wrote before publishing it.
    unsafe { *((mirror.address() + offset as usize) as *const i32) }
}
