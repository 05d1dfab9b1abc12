//! Method tables: which method a call selects in a receiver's class (JVMS 5.4.5, 5.4.6).

use crate::runtime::klass::ItableRow;
use crate::runtime::method::NOT_VIRTUAL;
use crate::runtime::{Klass, KlassRef, Method, MethodRef};
use std::sync::atomic::Ordering;

/// Builds the vtable of a class whose superclass has one, and numbers the methods of interfaces. Several
/// threads may do so at once: all get the same result.
pub fn build_vtable(klass: KlassRef) {
    let mut table: Vec<MethodRef> =
        klass.super_klass.map_or(Vec::new(), |s| s.vtable.get().expect("linked first").to_vec());
    if klass.is_interface() {
        number_interface_methods(klass);
    } else {
        let inherited = table.len();
        for method in klass.methods().iter().copied().filter(|m| is_dispatched(m)) {
            let mut index = None;
            for (at, entry) in table[..inherited].iter_mut().enumerate() {
                if can_override(method, entry) {
                    *entry = method;
                    index.get_or_insert(at);
                }
            }
            let index = index.unwrap_or_else(|| {
                table.push(method);
                table.len() - 1
            });
            method.vtable_index.store(index as i32, Ordering::Relaxed);
        }
    }
    klass.set_vtable(table.into_boxed_slice());
}

/// The class's method for each method of each of its interfaces; built at the first interface call.
pub fn itable(klass: KlassRef) -> &'static [ItableRow] {
    klass.itable.get_or_init(|| {
        let rows = klass.all_interfaces.iter().filter_map(|interface| {
            let methods: Box<[_]> = interface
                .methods()
                .iter()
                .filter(|method| method.itable_index.load(Ordering::Relaxed) != NOT_VIRTUAL)
                .map(|method| implementation(klass, method))
                .collect();
            (!methods.is_empty()).then_some(ItableRow { interface, methods })
        });
        rows.collect()
    })
}

/// The method that a class has for an interface method: its own or an inherited one, else the one default
/// that is more specific than all others. `None` when there is none or no single one.
pub fn implementation(klass: KlassRef, wanted: &Method) -> Option<MethodRef> {
    let mut at = Some(klass);
    while let Some(class) = at {
        let own = class.declared_method(wanted.name(), wanted.descriptor());
        if let Some(method) = own.filter(|m| !m.is_static() && !m.flags().is_private()) {
            return Some(method);
        }
        at = class.super_klass;
    }
    match &most_specific(klass, wanted)[..] {
        [] => None,
        candidates => {
            let mut defaults = candidates.iter().filter(|m| !m.is_abstract());
            match (defaults.next(), defaults.next()) {
                (Some(only), None) => Some(only),
                (None, _) => Some(candidates[0]),
                _ => None,
            }
        }
    }
}

/// The maximally-specific superinterface methods of a class with a name and descriptor (JVMS 5.4.3.3).
pub fn most_specific(klass: &Klass, wanted: &Method) -> Vec<MethodRef> {
    most_specific_named(klass, wanted.name(), wanted.descriptor())
}

/// As [`most_specific`], by name.
pub fn most_specific_named(
    klass: &Klass,
    name: classfile::symbol::Symbol,
    descriptor: classfile::symbol::Symbol,
) -> Vec<MethodRef> {
    let declared = klass.all_interfaces.iter().filter_map(|i| i.declared_method(name, descriptor));
    let all: Vec<MethodRef> =
        declared.filter(|m| !m.is_static() && !m.flags().is_private()).collect();
    let is_overridden = |method: &MethodRef| {
        all.iter()
            .any(|other| other.holder != method.holder && other.holder.is_subtype_of(method.holder))
    };
    all.iter().copied().filter(|method| !is_overridden(method)).collect()
}

fn number_interface_methods(interface: KlassRef) {
    let dispatched = interface.methods().iter().filter(|m| is_dispatched(m));
    for (index, method) in dispatched.enumerate() {
        method.itable_index.store(index as i32, Ordering::Relaxed);
    }
}

pub(super) fn is_dispatched(method: &Method) -> bool {
    !method.is_static() && !method.flags().is_private() && method.name().bytes()[0] != b'<'
}

/// JVMS 5.4.5, for an entry of the superclass's table.
pub(super) fn can_override(method: &Method, entry: &Method) -> bool {
    if method.name() != entry.name() || method.descriptor() != entry.descriptor() {
        return false;
    }
    !entry.flags().is_package_private() || entry.holder.same_package(method.holder)
}
