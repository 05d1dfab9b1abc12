//! Natives of `sun.instrument.InstrumentationImpl`. Each has the number of its agent as its first argument.

use super::IMPLEMENTATION;
use super::start::{self, Kind, NotStarted};
use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::objects;
use crate::loading::{errors, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};

pub static INSTRUMENTATION: NativeTable = NativeTable {
    class: IMPLEMENTATION,
    entries: &[
        entry("isModifiableClass0", "", Native::Direct(is_modifiable)),
        entry("isRetransformClassesSupported0", "", Native::Direct(|_, _| Ok(0))),
        entry("setHasTransformers", "", Native::Direct(set_has_transformers)),
        // There are none: a transformer that can retransform is refused by the class library.
        entry("setHasRetransformableTransformers", "", Native::Direct(|_, _| Ok(0))),
        entry("retransformClasses0", "", Native::Direct(unsupported)),
        entry("redefineClasses0", "", Native::Direct(unsupported)),
        entry("getAllLoadedClasses0", "", Native::Direct(all_loaded_classes)),
        entry("getInitiatedClasses0", "", Native::Direct(initiated_classes)),
        entry("getObjectSize0", "", Native::Direct(object_size)),
        entry("appendToClassLoaderSearch0", "", Native::Direct(append_to_search)),
        entry("setNativeMethodPrefixes", "", Native::Direct(unsupported)),
        entry("loadAgent0", "", Native::Direct(load_agent)),
    ],
};

/// `isModifiableClass0(agent, class)`: whether the class could be redefined, by its kind.
fn is_modifiable(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let klass = t.klass_of_mirror(args.object(3));
    Ok(u64::from(klass.instance().is_some_and(|instance| !instance.is_hidden)))
}

/// `setHasTransformers(agent, has)`
fn set_has_transformers(t: &JavaThread, args: Arguments) -> JResult<u64> {
    t.vm.agents.set_has_transformers(args.long(1) as usize, args.boolean(3));
    Ok(0)
}

fn unsupported(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let message = "loaded classes and native methods cannot be changed";
    errors::fail(t, "java/lang/UnsupportedOperationException", message)
}

fn all_loaded_classes(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let count = t.vm.heap.layouts().count();
    let klasses = t.vm.klasses.iter(count).filter(|klass| !klass.is_primitive());
    let mirrors = objects::mirrors_of_found(t, klasses);
    let class = t.vm.known.classes.class();
    Ok(objects::array_of(t, class, &mirrors)?.address() as u64)
}

/// `getInitiatedClasses0(agent, loader)`
fn initiated_classes(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let loader = lookup::loader_data(t, args.object(3));
    let klasses = loader.classes.read().values().copied().collect();
    class_array(t, klasses)
}

fn class_array(t: &JavaThread, klasses: Vec<KlassRef>) -> JResult<u64> {
    Ok(objects::class_array(t, &klasses)?.address() as u64)
}

/// `getObjectSize0(agent, object)`, in bytes.
fn object_size(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let object = args.object(3);
    if object.is_null() {
        return Err(errors::null_pointer(t));
    }
    let layout = t.vm.heap.layouts().layout(t.klass_of(object).id);
    Ok(layout.object_bytes(object, t.vm.slot_bytes) as u64)
}

/// `appendToClassLoaderSearch0(agent, jar, isBootLoader)`
fn append_to_search(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let jar = strings::to_text(t, args.object(3));
    if args.boolean(4) {
        let appended = t.vm.appended.get().expect("the boot class path is open");
        t.safely(|| appended.append(&jar));
    } else {
        start::append_to_system_loader(t, &jar)?;
    }
    Ok(0)
}

/// `loadAgent0(jar)`, static: the main program's jar names an agent.
fn load_agent(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let jar = strings::to_text(t, args.object(0));
    let problem = match start::load(t, Kind::Launcher, &jar, Some("")) {
        Ok(()) => return Ok(0),
        Err(NotStarted::Threw(thrown)) => return Err(thrown),
        Err(NotStarted::BadJar) => format!("{jar} has no manifest"),
        Err(NotStarted::NoClass(attribute)) => format!("{jar} has no attribute {attribute}"),
    };
    errors::fail(t, "java/lang/InternalError", &problem)
}
