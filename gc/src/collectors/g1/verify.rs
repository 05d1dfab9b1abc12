//! Checking G1's own tables, in addition to the checks of [`crate::core::verify`] on every heap: world stopped,
//! buffers retired.
//!
//! For every object of an old or humongous region that is not known to be dead, and every slot of it that refers to
//! another region: if that is young, the slot's card is dirty; otherwise the card is dirty or the other region's
//! remembered set has it. Every young region's cards say so, and no header has a tag.

use super::cards::{DIRTY, YOUNG};
use super::header::Header;
use super::tables::Tables;
use crate::memory::region::RegionUse;
use crate::object::ObjectRef;
use crate::object::codec::SlotCodec;
use crate::object::geometry::RegionId;
use crate::tracing::scan::for_every_slot;

pub fn verify(tables: &Tables, when: &str) {
    let core = &tables.core;
    for (id, region) in core.regions.iter() {
        assert!(!tables.moves(id) && !tables.retains(id), "{when}: {id:?} is still in a pause");
        match region.usage() {
            RegionUse::Objects | RegionUse::HumongousStart => walk(tables, id, when),
            _ => {}
        }
    }
}

fn walk(tables: &Tables, id: RegionId, when: &str) {
    let core = &tables.core;
    let is_young = tables.kind(id).is_young();
    let start = core.geometry.region_start(id);
    let end = start + core.regions.region(id).top();
    let mut at = start;
    while at < end {
        let object = ObjectRef::from_address(at);
        let header = Header::of(object);
        assert_eq!(header, header.untagged(), "{when}: {object:?} has a tag");
        let card_is_young = tables.cards.is(at, YOUNG);
        assert_eq!(card_is_young, is_young, "{when}: card of {object:?} in {:?}", tables.kind(id));
        if !is_young && !tables.is_dead(object) {
            check_slots(tables, object, when);
        }
        at += core.layout_of(object).object_bytes(object, core.slot_width.bytes());
    }
}

fn check_slots(tables: &Tables, object: ObjectRef, when: &str) {
    let core = &tables.core;
    let (layout, fields) = (core.layout_of(object), core.reference_fields());
    for_every_slot(layout, object, core.slot_width.bytes(), fields, |at| {
        let target = tables.codec().read(object, at);
        if target.is_null() {
            return;
        }
        let slot = object.address() + at;
        let (from, to) = (core.geometry.region_at(slot), tables.region_of(target));
        if from == to || tables.cards.is(slot, DIRTY) {
            return;
        }
        let kind = tables.kind(to);
        assert!(
            !kind.is_young() && tables.remembered.contains(slot, target),
            "{when}: slot {at} of {object:?} in {from:?} refers to {target:?} in {to:?}, {kind:?}, \
             and no remembered set has it"
        );
    });
}
