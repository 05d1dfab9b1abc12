//! The references in a thread's frames, for the collector.

use super::frame::{Frame, REPLACED};
use super::{activation, walk};
use crate::machine::JavaThread;
use crate::runtime::MethodRef;
use classfile::oopmap::{MethodOopMaps, MethodShape};
use gc::object::ObjectRef;

/// Visits every word of the thread's frames that holds a reference: locals and operands by oop map, arguments of
/// native methods by signature, root slots of compiled frames, locks. The thread is stopped, or the caller at a
/// safepoint.
pub fn visit_roots(t: &JavaThread, visit: &mut dyn FnMut(&mut ObjectRef)) {
    for (frame, limit) in walk::interpreted(t) {
        // SAFETY: the frame's header is the collector's while the thread is stopped.
        visit_word(unsafe { &raw mut (*std::ptr::from_ref(frame).cast_mut()).lock }.cast(), visit);
        if frame.is_native() {
            visit_arguments(frame, visit);
        } else if frame.flags & REPLACED == 0 {
            visit_interpreted(frame, limit, visit);
        }
    }
    activation::for_each_frame(t, &mut |frame| {
        frame.roots().for_each(|slot| visit_word(slot, visit));
    });
    // SAFETY: as above.
    for held in unsafe { &mut *t.java_stack.monitors.get() } {
        visit(&mut held.object);
    }
}

fn visit_interpreted(frame: &Frame, limit: *mut u64, visit: &mut dyn FnMut(&mut ObjectRef)) {
    let method = frame.method;
    let code = method.code().expect("an interpreted method");
    let bci = frame.bci().expect("an interpreted frame");
    let max_locals = code.max_locals as usize;
    let slot_at = |slot: usize| match slot < max_locals {
        true => frame.locals.wrapping_add(slot),
        false => frame.stack_base().wrapping_add(slot - max_locals),
    };
    // SAFETY: slots of the frame asked about.
    let read = |slot: usize| unsafe { *slot_at(slot) };
    let map = maps_of(method)
        .map_at(&shape_of(method), bci, read)
        .unwrap_or_else(|error| panic!("{method:?} at {bci}: {error}"));
    let depth = (limit as usize).saturating_sub(frame.stack_base() as usize) / 8;
    for slot in map.references(depth as u16) {
        visit_word(slot_at(slot), visit);
    }
}

fn visit_arguments(frame: &Frame, visit: &mut dyn FnMut(&mut ObjectRef)) {
    let method = frame.method;
    let mut slot = frame.locals;
    if !method.is_static() {
        visit_word(slot, visit);
        slot = slot.wrapping_add(1);
    }
    for parameter in &method.parameters {
        if parameter.is_reference() {
            visit_word(slot, visit);
        }
        slot = slot.wrapping_add(parameter.slots() as usize);
    }
}

fn visit_word(slot: *mut u64, visit: &mut dyn FnMut(&mut ObjectRef)) {
    // SAFETY: the slot holds a reference, says the map or the signature; an ObjectRef is a word.
    let word = unsafe { &mut *slot.cast::<ObjectRef>() };
    if !word.is_null() {
        visit(word);
    }
}

/// The input from which oop maps are computed.
pub fn shape_of(method: MethodRef) -> MethodShape<'static> {
    let code = method.code().expect("a method with bytecode");
    MethodShape {
        bytecode: &code.bytecode,
        exception_table: &code.exception_table,
        max_locals: code.max_locals,
        max_stack: code.max_stack,
        pool: &method.holder.inst().file.constant_pool,
        descriptor: method.descriptor(),
        is_static: method.is_static(),
    }
}

fn maps_of(method: MethodRef) -> &'static MethodOopMaps {
    method.oop_maps.get_or_init(Box::default)
}
