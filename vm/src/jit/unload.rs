//! Classes die: the code that names them goes.
//!
//! Every body says which holders of classes it names ([`Body::holders`](crate::runtime::code::body::Body)). No frame of
//! code that names a dead one is on a stack, since the holders that such code names are in use
//! ([`frames::holders`](crate::frames::holders)). So the bodies are freed in the pause that finds the classes dead.
//! Methods that live on are interpreted, counted anew, and their call sites forget the classes that are gone. The other
//! places that name classes weakly are emptied: inline caches, and what threads remember of selections.
//!
//! A compilation that is running may still find a dead class, and name it: its body is not installed (`compile`), and
//! nothing is freed that it may hold a pointer to, until it has ended ([`Ticket`]).

use super::compilations::Ticket;
use super::sweep;
use crate::frames::holders;
use crate::machine::Vm;
use crate::runtime::code::installed::Installed;
use crate::runtime::code::quick;
use crate::runtime::{KlassRef, MethodRef};
use gc::object::KlassId;
use gc::object::layout::HolderId;
use gc::threads::mutator::WorldStopped;
use rustc_hash::FxHashSet;

/// Forgets the classes of dead holders. From now on no code names them but what running compilations make, which is
/// dropped: see [`Jit::is_past`](super::Jit::is_past).
///
/// In the pause that has found holders dead, and has looked at the stacks for those in use, once for all of them: after
/// they were marked ([`State::Dead`](crate::runtime::holder::State::Dead)) and `Vm::klasses` has forgotten
/// their classes, and before anything of them is freed.
pub fn unload(vm: &'static Vm, world: &WorldStopped) -> Ticket {
    holders::forget_selections(vm, world);
    // Compiler threads hold the locks for a moment, in which they wait for nobody.
    let publishing = vm.jit.publishing.lock();
    let mut dead = Vec::new();
    for installed in vm.jit.cache.bodies() {
        for cell in &installed.body.cells {
            cell.forget(|klass, method| is_gone(vm, KlassId(klass)) || is_dead(method.holder));
        }
        if installed.body.names_dead() {
            dead.push(installed);
        }
    }
    for installed in &dead {
        forget_receivers(vm, installed);
    }
    sweep::free(vm, world, &publishing, dead);
    vm.jit.queue.drop_dead()
}

/// The dead holders that code still names: none of them may be freed yet. Code that was on a stack when its class died,
/// which is not expected. With the world stopped.
pub fn named_dead_holders(vm: &'static Vm, _world: &WorldStopped) -> FxHashSet<HolderId> {
    let bodies = vm.jit.cache.bodies().into_iter();
    let holders = bodies.flat_map(|installed| installed.body.holders.iter());
    holders.filter(|holder| holder.is_dead()).map(|holder| holder.id).collect()
}

fn is_dead(klass: KlassRef) -> bool {
    klass.holder.is_dead()
}

fn is_gone(vm: &Vm, klass: KlassId) -> bool {
    vm.klasses.find(klass).is_none_or(is_dead)
}

/// The call sites of the methods that the code was made of are to learn which classes take the places of those that are
/// gone.
fn forget_receivers(vm: &Vm, installed: &Installed) {
    let body = &installed.body;
    let inlined = body.exits.methods().iter().copied();
    let mut methods: Vec<MethodRef> = Vec::new();
    for method in std::iter::once(body.method).chain(inlined) {
        if !is_dead(method.holder) && !methods.contains(&method) {
            methods.push(method);
            quick::forget_receivers(method, |klass| is_gone(vm, klass));
        }
    }
}
