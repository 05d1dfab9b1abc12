//! Loading constraints (JVMS 5.3.4): loaders that meet in a descriptor must mean the same class by each name in it.
//!
//! When a member is resolved across loaders, or a method overrides one of another loader's class, both loaders are
//! put in one group for each name in the descriptor. A group is bound to a class as soon as one of its loaders has
//! one of that name; a loader that later defines or finds another class fails.

use super::messages::{location_with_parent, method_text, of_method};
use super::{errors, lookup, tables};
use crate::machine::JavaThread;
use crate::runtime::{FieldRef, JResult, Klass, KlassRef, LoaderData, MethodRef};
use classfile::symbol::{Kept, Symbol};
use parking_lot::Mutex;
use rustc_hash::{FxHashMap, FxHashSet};

/// The constraints of all loaders.
#[derive(Default)]
pub struct Constraints {
    /// Locked before any loader's `classes`.
    groups: Mutex<FxHashMap<Kept, Vec<Group>>>,
}

/// Loaders (by id) that mean the same class by a name.
struct Group {
    loaders: Vec<u32>,
    klass: Option<KlassRef>,
}

impl Constraints {
    /// Enters a class for a loader under its name. `Ok` is the class that the loader has from now on, this one or an
    /// earlier one; `Err` the class that its constraints ask for instead.
    pub fn record(&self, loader: &LoaderData, klass: KlassRef) -> Result<KlassRef, KlassRef> {
        let mut groups = self.groups.lock();
        let mut classes = loader.classes.write();
        if let Some(known) = classes.get(&klass.name) {
            return Ok(known);
        }
        let of_name = groups.get_mut(&klass.name).into_iter().flatten();
        if let Some(group) = of_name.into_iter().find(|group| group.loaders.contains(&loader.id)) {
            match group.klass {
                Some(other) if other != klass => return Err(other),
                _ => group.klass = Some(klass),
            }
        }
        classes.insert(klass.name, klass);
        Ok(klass)
    }

    /// Dead loaders have none. World stopped, or the loaders have no class.
    pub fn forget(&self, dead: &FxHashSet<u32>) {
        self.groups.lock().retain(|_, of_name| {
            of_name.retain_mut(|group| {
                group.loaders.retain(|loader| !dead.contains(loader));
                // A class that a living loader has is alive.
                group.klass = group.klass.filter(|klass| !klass.holder.is_dead());
                group.loaders.len() > 1
            });
            !of_name.is_empty()
        });
    }

    /// Lets two loaders mean the same by a name. `false` when they do not.
    fn add(&self, name: Symbol, one: &LoaderData, other: &LoaderData) -> bool {
        let mut groups = self.groups.lock();
        let of_name = groups.entry(Kept::new(name)).or_default();
        let (with, without): (Vec<Group>, Vec<Group>) =
            std::mem::take(of_name).into_iter().partition(|group| {
                group.loaders.contains(&one.id) || group.loaders.contains(&other.id)
            });
        *of_name = without;
        let bound = with.iter().filter_map(|group| group.klass);
        let mut known = bound.chain(one.find(name)).chain(other.find(name));
        let klass = known.next();
        if known.any(|another| Some(another) != klass) {
            of_name.extend(with);
            return false;
        }
        let mut loaders: Vec<u32> = with.into_iter().flat_map(|group| group.loaders).collect();
        loaders.extend([one.id, other.id]);
        loaders.sort_unstable();
        loaders.dedup();
        of_name.push(Group { loaders, klass });
        true
    }
}

/// Constrains the loaders of a class and of a field that it names.
pub fn check_field(t: &JavaThread, holder: KlassRef, field: FieldRef) -> JResult<()> {
    let Some(ty) = disagreement(t, field.descriptor(), holder.loader, field.holder.loader) else {
        return Ok(());
    };
    let message = format!(
        "loader constraint violation: when resolving field \"{}\" of type {ty}, the class loader {} of the current \
         class, {}, and the class loader {} for the field's defining class, {}, have different Class objects for \
         type {ty} ({}; {})",
        field.name(),
        lookup::describe(t, holder.loader),
        holder.java_name(),
        lookup::describe(t, field.holder.loader),
        field.holder.java_name(),
        located(t, holder),
        located(t, field.holder),
    );
    errors::fail(t, LINKAGE_ERROR, &message)
}

/// Constrains the loaders of a class and of a method that it names, through `referenced`.
pub fn check_method(
    t: &JavaThread,
    holder: KlassRef,
    referenced: KlassRef,
    method: MethodRef,
) -> JResult<()> {
    let target = method.holder;
    let Some(ty) = disagreement(t, method.descriptor(), holder.loader, target.loader) else {
        return Ok(());
    };
    let message = format!(
        "loader constraint violation: when resolving {} {} the class loader {} of the current class, {}, and the \
         class loader {} for the method's defining class, {}, have different Class objects for the type {ty} used \
         in the signature ({}; {})",
        if referenced.is_interface() { "interface method" } else { "method" },
        method_text(referenced, method.name(), method.descriptor()),
        lookup::describe(t, holder.loader),
        holder.java_name(),
        lookup::describe(t, target.loader),
        target.java_name(),
        located(t, holder),
        located(t, target),
    );
    errors::fail(t, LINKAGE_ERROR, &message)
}

/// Constrains the loaders of the methods in a class's tables and of the methods that they override or implement
/// (JVMS 5.4.2). Its supertypes are linked.
pub fn check_tables(t: &JavaThread, klass: KlassRef) -> JResult<()> {
    if klass.is_interface() {
        return Ok(());
    }
    let inherited = klass.super_klass.and_then(|parent| parent.vtable.get());
    let inherited = inherited.map_or(&[][..], |table| &table[..]);
    let constrained = klass.methods().iter().copied().filter(|m| tables::is_dispatched(m));
    for method in constrained.filter(|m| names(m.descriptor()).next().is_some()) {
        for overridden in inherited.iter().filter(|entry| tables::can_override(method, entry)) {
            check_override(t, klass, method, overridden)?;
        }
    }
    for interface in klass.all_interfaces.iter() {
        let wanted = interface.methods().iter().copied().filter(|m| tables::is_dispatched(m));
        for wanted in wanted.filter(|m| names(m.descriptor()).next().is_some()) {
            if let Some(method) = tables::implementation(klass, wanted) {
                check_implementation(t, klass, method, wanted)?;
            }
        }
    }
    Ok(())
}

fn check_override(
    t: &JavaThread,
    klass: KlassRef,
    method: MethodRef,
    overridden: MethodRef,
) -> JResult<()> {
    let (own, parent) = (method.holder, overridden.holder);
    let Some(ty) = disagreement(t, method.descriptor(), own.loader, parent.loader) else {
        return Ok(());
    };
    let message = format!(
        "loader constraint violation for class {}: when selecting overriding method {} the class loader {} of the \
         selected method's type {}, and the class loader {} for its super type {} have different Class objects for \
         the type {ty} used in the signature ({}; {})",
        klass.java_name(),
        of_method(method),
        lookup::describe(t, own.loader),
        own.java_name(),
        lookup::describe(t, parent.loader),
        parent.java_name(),
        located(t, own),
        located(t, parent),
    );
    errors::fail(t, LINKAGE_ERROR, &message)
}

fn check_implementation(
    t: &JavaThread,
    klass: KlassRef,
    method: MethodRef,
    wanted: MethodRef,
) -> JResult<()> {
    let (own, interface) = (method.holder, wanted.holder);
    let Some(ty) = disagreement(t, wanted.descriptor(), own.loader, interface.loader) else {
        return Ok(());
    };
    let message = format!(
        "loader constraint violation in interface itable initialization for class {}: when selecting method {} the \
         class loader {} for super interface {}, and the class loader {} of the selected method's {}, {} have \
         different Class objects for the type {ty} used in the signature ({}; {})",
        klass.java_name(),
        of_method(wanted),
        lookup::describe(t, interface.loader),
        interface.java_name(),
        lookup::describe(t, own.loader),
        if own.is_interface() { "interface" } else { "class" },
        own.java_name(),
        located(t, interface),
        located(t, own),
    );
    errors::fail(t, LINKAGE_ERROR, &message)
}

/// The error of a loader that [`Constraints::record`] refused.
pub fn refused(t: &JavaThread, loader: &LoaderData, klass: KlassRef, other: KlassRef) -> String {
    let kind = |klass: &Klass| if klass.is_interface() { "interface" } else { "class" };
    format!(
        "loader constraint violation: loader {} wants to load {} {}. A different {} with the same name was \
         previously loaded by {}. ({})",
        lookup::describe(t, loader),
        kind(klass),
        klass.java_name(),
        kind(other),
        lookup::describe(t, other.loader),
        located(t, other),
    )
}

/// The first type of a descriptor that two loaders do not agree on; the others are constrained. No safepoint.
fn disagreement(
    t: &JavaThread,
    descriptor: Symbol,
    one: &LoaderData,
    other: &LoaderData,
) -> Option<String> {
    if one == other {
        return None;
    }
    let (dimensions, name) =
        names(descriptor).find(|(_, name)| !t.vm.constraints.add(*name, one, other))?;
    Some(match dimensions {
        0 => lookup::dotted(name),
        _ => format!("{}L{name};", "[".repeat(dimensions)),
    })
}

/// Array dimensions and names of the classes in a descriptor; without those that only the JDK may define, on which
/// all loaders agree.
fn names(descriptor: Symbol) -> impl Iterator<Item = (usize, Symbol)> {
    let text: &'static [u8] = descriptor.bytes();
    let mut at = 0;
    std::iter::from_fn(move || {
        let mut dimensions = 0;
        while at < text.len() {
            match text[at] {
                b'L' => {
                    let length = text[at..].iter().position(|byte| *byte == b';')?;
                    let name = &text[at + 1..at + length];
                    at += length + 1;
                    if !name.starts_with(b"java/") {
                        return Some((dimensions, Symbol::intern(name)));
                    }
                    dimensions = 0;
                }
                byte => {
                    dimensions = if byte == b'[' { dimensions + 1 } else { 0 };
                    at += 1;
                }
            }
        }
        None
    })
}

/// `a.B is in unnamed module of loader 'mine' @1b2c3d, parent loader 'app'`.
fn located(t: &JavaThread, klass: KlassRef) -> String {
    format!("{} is in {}", klass.java_name(), location_with_parent(t, klass))
}

const LINKAGE_ERROR: &str = "java/lang/LinkageError";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_names_in_descriptors() {
        let of = |text: &str| -> Vec<(usize, String)> {
            let found = names(Symbol::of(text));
            found.map(|(dimensions, name)| (dimensions, name.text().to_string())).collect()
        };
        assert_eq!(
            of("(I[Ljava/lang/String;[[JLa/B;)[[Lc/D;"),
            [(0, "a/B".into()), (2, "c/D".into())]
        );
        assert_eq!(of("[La/B;"), [(1, "a/B".into())]);
        assert_eq!(of("(IJ)V"), []);
    }
}
