//! Values that a loop loads again and again and does not change are loaded before it: fields of objects whose local
//! the loop does not store to, statics, and elements of arrays of references.
//!
//! Only in loops that do nothing but compute: their instructions that were ever executed call nothing, lock nothing,
//! and touch no volatile variable, so that plain loads may be as old as the loop (JLS 17.4), and store to no such
//! place. Each value is kept in a variable of its own, which safepoints rename as they do locals.
//!
//! Settled fields ([`is_settled`](crate::runtime::Field)) that are known where a loop is entered are kept in
//! any loop: an iterator's collection, the values that a lambda has captured, the children of a node that stays.
//!
//! A loop's header may be reached where nothing is known of the object: then null gives zero, which is not used,
//! since the instruction in the loop checks the object first. Of an index that is outside the same is true, and of an
//! object of another class: a settled field may have been known on one way only, behind a cast.
//!
//! An instruction that was resolved by another thread only after the loop was analysed may contradict the analysis.
//! It leaves the code, as if it were not resolved yet.

use super::exits::is_constructed;
use super::scope::Scope;
use super::{Kind, Translator, rotate};
use crate::runtime::FieldRef;
use crate::runtime::code::quick::internal as quick;
use crate::runtime::constants::Constant;
use classfile::bytecode::{Instruction, op};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use rustc_hash::FxHashSet;

/// A place that a loop loads from and does not change, and where its contents are kept.
pub struct Invariant {
    place: Place,
    kind: Kind,
    variable: Variable,
    /// On all ways to the loop that were translated the contents are known not to be null.
    is_not_null: bool,
}

/// Slots are of locals that the loop does not store to.
#[derive(Clone, Copy)]
enum Place {
    Field { field: FieldRef, slot: usize },
    Static(FieldRef),
    Element { array: usize, index: usize },
}

impl Place {
    /// Its contents stay the same, even when other code stores or other threads run.
    fn is_settled(self) -> bool {
        matches!(self, Place::Field { field, .. } if field.is_settled())
    }

    fn is(self, other: Place) -> bool {
        match (self, other) {
            (Place::Field { field: a, slot }, Place::Field { field: b, slot: other }) => {
                std::ptr::eq(a, b) && slot == other
            }
            (Place::Static(a), Place::Static(b)) => std::ptr::eq(a, b),
            (Place::Element { array: a, index: i }, Place::Element { array: b, index: j }) => {
                (a, i) == (b, j)
            }
            _ => false,
        }
    }
}

impl Scope {
    /// The references that are kept for the loops around the block being translated.
    pub(super) fn invariants_here(&self) -> Vec<Variable> {
        let around = self.loops_around();
        let kept = around.flat_map(|header| &self.invariants[header]);
        kept.filter(|kept| kept.kind == Kind::Ref).map(|kept| kept.variable).collect()
    }

    /// Headers of loops around the block that have invariants.
    fn loops_around(&self) -> impl Iterator<Item = &usize> {
        self.invariants.keys().filter(|header| self.is_in_loop(**header))
    }

    fn is_in_loop(&self, header: usize) -> bool {
        let natural = self.flow.blocks[header].natural_loop.as_ref();
        natural.is_some_and(|natural| natural.is_inside[self.block])
    }
}

impl Translator<'_> {
    /// Loads the invariants of the loop at `header`, at the end of a way that leads to it.
    pub(super) fn load_invariants(&mut self, header: usize) {
        let scope = self.scope();
        if scope.flow.blocks[header].natural_loop.is_none() {
            return;
        }
        // The first way to a header is from before the loop, even to the method's first block.
        match scope.entries[header].is_some() {
            false => {
                let found = self.find_invariants(header);
                self.scope_mut().invariants.insert(header, found);
            }
            true if scope.is_in_loop(header) => return,
            true => {}
        }
        let mut invariants = self.scope_mut().invariants.remove(&header).unwrap_or_default();
        for kept in &mut invariants {
            let value = self.contents_before(kept.place, kept.kind);
            kept.is_not_null &= kept.kind == Kind::Ref && self.facts.is_not_null(value);
            self.b.def_var(kept.variable, value);
        }
        self.scope_mut().invariants.insert(header, invariants);
    }

    /// The block at `header` begins: its loop's invariants are known. If `is_early`, more ways may lead to it.
    pub(super) fn know_invariants(&mut self, header: usize, is_early: bool) {
        let invariants = self.scope_mut().invariants.remove(&header).unwrap_or_default();
        for kept in &invariants {
            let value = self.use_var(kept.variable);
            if kept.is_not_null && !is_early {
                self.facts.set_not_null(value);
            }
            match kept.place {
                Place::Field { field, slot } => {
                    let object = self.local(slot, Kind::Ref);
                    self.facts.memory.set_field(field, object, value);
                }
                Place::Static(field) => {
                    self.facts.memory.set_static_field(field, value);
                }
                Place::Element { array, index } => {
                    let array = self.local(array, Kind::Ref);
                    let index = self.local(index, Kind::Int);
                    self.facts.memory.set_element(array, index, value);
                }
            }
        }
        self.scope_mut().invariants.insert(header, invariants);
    }

    /// Whether an access to a field changes values that a loop around it takes for unchanged.
    pub(super) fn contradicts_invariants(&self, field: FieldRef, is_put: bool) -> bool {
        let is_kept = |place| match place {
            Place::Field { field: kept, .. } | Place::Static(kept) => std::ptr::eq(kept, field),
            Place::Element { .. } => false,
        };
        self.scopes.iter().any(|scope| {
            let kept = scope.loops_around().flat_map(|header| &scope.invariants[header]);
            let mut kept = kept.filter(|kept| !kept.place.is_settled());
            kept.any(|kept| field.is_volatile() || is_put && is_kept(kept.place))
        })
    }

    /// Whether a call or a lock would make values stale that a loop around it takes for current.
    pub(super) fn must_not_order(&self) -> bool {
        let keeps = |scope: &Scope| {
            let mut around = scope.loops_around();
            around
                .any(|header| scope.invariants[header].iter().any(|kept| !kept.place.is_settled()))
        };
        self.scopes.iter().any(keeps)
    }

    fn find_invariants(&mut self, header: usize) -> Vec<Invariant> {
        let scope = self.scope();
        let flow = scope.flow.clone();
        let natural = flow.blocks[header].natural_loop.as_ref().expect("looked at by the caller");
        // Code that is entered in the middle of the loop, or at it, has not executed the loads before it.
        if scope.entered_at.is_some_and(|entered| natural.is_inside[entered]) {
            return Vec::new();
        }
        let mut places = self.unchanged_places(natural, header).unwrap_or_default();
        places.truncate(INVARIANTS_MAX);
        self.add_settled(natural, header, &mut places);
        let mut declared = Vec::new();
        for place in places {
            let kind = match place {
                Place::Field { field, .. } | Place::Static(field) => {
                    Kind::of(field.ty).expect("not void")
                }
                Place::Element { .. } => Kind::Ref,
            };
            let variable = self.b.declare_var(kind.clif());
            declared.push(Invariant { place, kind, variable, is_not_null: true });
        }
        declared
    }

    /// The places that a loop most often loads from and does not store to; `None` if its instructions have other
    /// effects.
    fn unchanged_places(
        &self,
        natural: &super::flow::NaturalLoop,
        header: usize,
    ) -> Option<Vec<Place>> {
        let scope = self.scope();
        let flow = &scope.flow;
        let mut found: Vec<(Place, usize)> = Vec::new();
        let mut stored: FxHashSet<*const crate::runtime::Field> = FxHashSet::default();
        let mut stores_elements = false;
        let kept_local = |at: Option<&Instruction<'_>>, kind: Kind| {
            let at = at?;
            let opcode = if kind == Kind::Ref { op::ALOAD } else { op::ILOAD };
            let slot = at.local_slot().filter(|_| at.generic_opcode() == opcode)? as usize;
            let is_there = scope.locals[slot] == Some(kind)
                && flow.is_live(flow.blocks[header].start as usize, slot);
            (is_there && !natural.stores[slot]).then_some(slot)
        };
        for (block, _) in flow.blocks.iter().zip(&natural.is_inside).filter(|(_, inside)| **inside)
        {
            let mut before: [Option<Instruction<'_>>; 2] = [None, None];
            for at in rotate::instructions(flow.code, block) {
                let is_executed = scope.quick_opcode(at.bci as u16) > op::LAST;
                let place = match at.opcode {
                    op::MONITORENTER | op::MONITOREXIT | op::MULTIANEWARRAY => return None,
                    op::INVOKEVIRTUAL..=op::INVOKEDYNAMIC if is_executed => {
                        if !self.only_computes(scope, &at) {
                            return None;
                        }
                        None
                    }
                    op::NEW if is_executed => return None,
                    op::AASTORE => {
                        stores_elements = true;
                        None
                    }
                    op::GETFIELD | op::GETSTATIC | op::PUTFIELD | op::PUTSTATIC => {
                        match self.resolved_field(&at) {
                            Some(field) if field.is_volatile() => return None,
                            Some(field) if matches!(at.opcode, op::PUTFIELD | op::PUTSTATIC) => {
                                stored.insert(field);
                                None
                            }
                            Some(field) if at.opcode == op::GETSTATIC => {
                                let is_in_code =
                                    matches!(field.constant(), Some(Constant::Bits(_)));
                                (!is_in_code).then_some(Place::Static(field))
                            }
                            Some(_)
                                if scope.quick_opcode(at.bci as u16)
                                    == quick::GETFIELD_REFERENT =>
                            {
                                None
                            }
                            Some(field) => kept_local(before[1].as_ref(), Kind::Ref)
                                .map(|slot| Place::Field { field, slot }),
                            None => None,
                        }
                    }
                    op::AALOAD => {
                        let array = kept_local(before[0].as_ref(), Kind::Ref);
                        let index = kept_local(before[1].as_ref(), Kind::Int);
                        array.zip(index).map(|(array, index)| Place::Element { array, index })
                    }
                    _ => None,
                };
                if let Some(place) = place {
                    match found.iter_mut().find(|(known, _)| known.is(place)) {
                        Some((_, times)) => *times += 1,
                        None => found.push((place, 1)),
                    }
                }
                before = [before[1].take(), Some(at)];
            }
        }
        found.retain(|(place, _)| match place {
            Place::Field { field, .. } | Place::Static(field) => {
                !stored.contains(&std::ptr::from_ref(*field))
            }
            Place::Element { .. } => !stores_elements,
        });
        found.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
        Some(found.into_iter().map(|(place, _)| place).collect())
    }

    /// Settled fields that are known where the loop is entered, of objects that stay in their locals: no call in the
    /// loop changes them. Iterators, lambdas and views have such.
    fn add_settled(
        &mut self,
        natural: &super::flow::NaturalLoop,
        header: usize,
        places: &mut Vec<Place>,
    ) {
        let flow = self.scope().flow.clone();
        let start = flow.blocks[header].start as usize;
        let mut added = 0;
        for slot in 0..natural.stores.len() {
            let is_there =
                self.scope().locals[slot] == Some(Kind::Ref) && flow.is_live(start, slot);
            if !is_there || natural.stores[slot] {
                continue;
            }
            let object = self.local(slot, Kind::Ref);
            for (field, _) in self.facts.memory.settled(object) {
                let place = Place::Field { field, slot };
                let is_new = !places.iter().any(|known| known.is(place));
                if is_new && added < SETTLED_MAX && !is_constructed(&self.scopes, field) {
                    places.push(place);
                    added += 1;
                }
            }
        }
    }

    /// The contents of a place before the loop, or zero where they will not be used.
    fn contents_before(&mut self, place: Place, kind: Kind) -> Value {
        if let Place::Static(field) | Place::Field { field, .. } = place {
            self.name(field.holder);
        }
        match place {
            Place::Static(field) => self.known_static(field).unwrap_or_else(|| {
                let mirror = self.known_root(field.holder, field.holder.mirror);
                self.load_plain_field(field, mirror)
            }),
            Place::Field { field, slot } => {
                let object = self.local(slot, Kind::Ref);
                self.field_before(field, object, kind)
            }
            Place::Element { array, index } => {
                let (array, index) = (self.local(array, Kind::Ref), self.local(index, Kind::Int));
                if let Some(known) = self.facts.memory.element(array, index) {
                    return known;
                }
                let is_there = self.b.ins().icmp_imm_s(IntCC::NotEqual, array, 0);
                self.if_there(is_there, kind, |t| {
                    let length = t.load_length(array);
                    let is_inside = t.b.ins().icmp(IntCC::UnsignedLessThan, index, length);
                    t.if_there(is_inside, kind, |t| t.load_element(array, index))
                })
            }
        }
    }

    fn field_before(&mut self, field: FieldRef, object: Value, kind: Kind) -> Value {
        if let Some(known) = self.facts.memory.field(field, object) {
            return known;
        }
        let load = |t: &mut Self| {
            // The verifier has checked that an object has the field if the loop itself loads it from the local.
            if !field.is_settled() {
                return t.load_plain_field(field, object);
            }
            let has_field = t.is_instance(object, field.holder);
            t.if_there(has_field, kind, |t| t.load_plain_field(field, object))
        };
        if self.facts.is_not_null(object) {
            return load(self);
        }
        let is_there = self.b.ins().icmp_imm_s(IntCC::NotEqual, object, 0);
        self.if_there(is_there, kind, load)
    }

    /// The result of `load` if the condition is not 0, else zero. Facts that `load` establishes are not kept.
    fn if_there(
        &mut self,
        condition: Value,
        kind: Kind,
        load: impl FnOnce(&mut Self) -> Value,
    ) -> Value {
        let facts = self.facts.clone();
        let [there, join] = [(); 2].map(|()| self.b.create_block());
        let result = self.b.append_block_param(join, kind.clif());
        let zero = self.zero(kind);
        self.b.ins().brif(condition, there, &[], join, &[zero.into()]);
        self.continue_in(there);
        let loaded = load(self);
        self.b.ins().jump(join, &[loaded.into()]);
        self.continue_in(join);
        self.facts = facts;
        result
    }
}

/// More would be kept in memory themselves.
const INVARIANTS_MAX: usize = 6;
/// Calls have to save them.
const SETTLED_MAX: usize = 3;
