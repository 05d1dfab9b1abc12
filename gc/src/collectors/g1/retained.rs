//! Regions that should have been emptied and were not: they were pinned, or there was no memory for copies.
//!
//! When everything else has its place, such a region becomes old as it is. Objects that were left live; those that
//! were copied out or are dead become filler. It is rare, and done by one thread.

use super::header::Header;
use super::tables::{Kind, Tables};
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::tracing::scan::for_every_slot;

/// Makes a region old; returns the bytes that live in it.
pub fn settle(tables: &Tables, id: RegionId) -> usize {
    let core = &tables.core;
    tables.begin(id, Kind::Old);
    tables.set_moves(id, false);
    tables.set_retains(id, false);
    let start = core.geometry.region_start(id);
    let end = start + core.regions.region(id).top();
    let (mut at, mut dead_from, mut live) = (start, start, 0);
    while at < end {
        let object = ObjectRef::from_address(at);
        let header = Header::of(object);
        if header.is_left() {
            bury(tables, dead_from, at);
            header.untagged().write(object);
            let bytes = core.layout_of(object).object_bytes(object, core.slot_width.bytes());
            tables.starts.note(at, bytes);
            note_slots(tables, object);
            live += bytes;
            at += bytes;
            dead_from = at;
        } else {
            // A copy has the class that the new address has overwritten.
            let whole = header.place(object).unwrap_or(object);
            at += core.layout_of(whole).object_bytes(whole, core.slot_width.bytes());
        }
    }
    assert_eq!(at, end, "objects of {id:?} end behind its top");
    bury(tables, dead_from, end);
    core.regions.region(id).set_live_bytes(live);
    live
}

fn bury(tables: &Tables, from: usize, to: usize) {
    if from == to {
        return;
    }
    if tables.core.options.zeal() {
        tables.core.poison(from, to - from);
    }
    tables.core.fill(from, to - from);
    tables.starts.note(from, to - from);
}

fn note_slots(tables: &Tables, object: ObjectRef) {
    let core = &tables.core;
    let (layout, fields) = (core.layout_of(object), core.reference_fields());
    for_every_slot(layout, object, core.slot_width.bytes(), fields, |at| {
        let target = tables.codec().read(object, at);
        if !target.is_null() {
            tables.note_slot(object.address() + at, target);
        }
    });
}
