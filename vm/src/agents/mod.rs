//! Java agents (`java.lang.instrument`): those of `-javaagent`, those that tools load into a running VM, and main
//! programs that are their own.
//!
//! The class library has most of it. `sun.instrument.InstrumentationImpl` finds the agent's class, calls `premain` or
//! `agentmain`, and hands class files to the agent's transformers. HotSpot puts a library over JVMTI between it and the
//! VM; here its natives are the VM's own ([`natives`]).
//!
//! 1. `-javaagent:jar` appends the jar to the class path and asks for the module `java.instrument`.
//! 2. When the system class loader is there, before the main class is loaded, the VM reads each jar's manifest, makes
//!    an `InstrumentationImpl`, and calls the agent ([`start`]).
//! 3. From then on, `loading::define` gives the bytes of each new class to [`Agents::transform`], hidden classes
//!    excepted. It asks the agents that have transformers, in the order in which they were started.
//!
//! Classes that are loaded cannot be changed: `isRetransformClassesSupported` and `isRedefineClassesSupported` say so.

mod manifest;
pub mod natives;
pub mod start;

pub use start::{Kind, NotStarted, load, start_all};

use crate::java::objects;
use crate::loading::modules::ModuleRef;
use crate::loading::{call, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, LoaderData};
use classfile::descriptor::package_of;
use classfile::symbol::Symbol;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::RwLock;
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};

/// The agents of a VM.
#[derive(Default)]
pub struct Agents {
    all: RwLock<Vec<Agent>>,
    /// One of them has transformers. Relaxed: a class that is defined at the same moment may miss a new one.
    transforms: AtomicBool,
}

struct Agent {
    /// Its `InstrumentationImpl`.
    instrumentation: &'static RootSlot,
    has_transformers: bool,
}

impl Agents {
    /// Keeps an agent's `InstrumentationImpl`, which the caller stores in the slot. Its number is what the class
    /// library calls the address of the native agent.
    fn add(&self, instrumentation: &'static RootSlot) -> usize {
        let mut all = self.all.write();
        all.push(Agent { instrumentation, has_transformers: false });
        all.len()
    }

    fn set_has_transformers(&self, number: usize, has_transformers: bool) {
        let mut all = self.all.write();
        if let Some(agent) = number.checked_sub(1).and_then(|index| all.get_mut(index)) {
            agent.has_transformers = has_transformers;
        }
        self.transforms.store(all.iter().any(|agent| agent.has_transformers), Ordering::Relaxed);
    }

    /// What the agents make of the bytes of a new class, whose name may be unknown; `None`: they leave it as it is. A
    /// safepoint, and it runs Java code. An agent does not see the classes that its own code loads, as under HotSpot.
    pub fn transform(
        &self,
        t: &JavaThread,
        loader: &'static LoaderData,
        name: Option<Symbol>,
        protection_domain: Option<Handle>,
        bytes: &[u8],
    ) -> Option<Vec<u8>> {
        if !self.transforms.load(Ordering::Relaxed) {
            return None;
        }
        let all: Vec<&'static RootSlot> = {
            let all = self.all.read();
            let with_transformers = all.iter().filter(|agent| agent.has_transformers);
            with_transformers.map(|agent| agent.instrumentation).collect()
        };
        let mut made = None;
        for agent in all {
            let Some(_transforming) = Transforming::enter(agent) else { continue };
            let class = Class { loader, name, protection_domain };
            match class.transformed_by(t, agent, made.as_deref().unwrap_or(bytes)) {
                Ok(Some(new)) => made = Some(new),
                Ok(None) => {}
                // The class library catches what transformers throw. What comes here is of its own, or of the VM: the
                // class is loaded as it is.
                Err(thrown) => _ = t.take_pending(thrown),
            }
        }
        made
    }
}

/// A class that is being defined.
struct Class {
    loader: &'static LoaderData,
    name: Option<Symbol>,
    protection_domain: Option<Handle>,
}

impl Class {
    fn transformed_by(
        &self,
        t: &JavaThread,
        agent: &'static RootSlot,
        bytes: &[u8],
    ) -> JResult<Option<Vec<u8>>> {
        let _scope = t.scope();
        let implementation = objects::boot_class(t, IMPLEMENTATION)?;
        let transform = call::find(implementation, "transform", TRANSFORM);
        let bytes = t.root(objects::byte_array(t, Some(bytes))?);
        let name = t.root(match self.name {
            Some(name) => strings::from_modified_utf8(t, name.bytes())?,
            None => ObjectRef::NULL,
        });
        let package = self.name.map(|name| package_of(name.bytes()));
        let module = package.map(|package| t.vm.modules.of_package(self.loader, package));
        let module = match module {
            Some(ModuleRef::Named(module)) => t.load_root(module.object),
            _ => ObjectRef::NULL,
        };
        let is_being_redefined = ObjectRef::NULL;
        let objects = [
            t.load_root(agent),
            module,
            t.load_root(&self.loader.object),
            name.get(),
            is_being_redefined,
            self.protection_domain.map_or(ObjectRef::NULL, |domain| domain.get()),
            bytes.get(),
        ];
        let is_retransformer = 0;
        let objects = objects.iter().map(|object| object.address() as u64);
        let arguments: Vec<u64> = objects.chain([is_retransformer]).collect();
        let new = ObjectRef::from_address(t.call(transform, &arguments)? as usize);
        Ok((!new.is_null()).then(|| objects::bytes_of(new)))
    }
}

/// Held while a thread runs the transformers of an agent.
struct Transforming;

impl Transforming {
    /// `None`: this thread does so already.
    fn enter(agent: &'static RootSlot) -> Option<Transforming> {
        RUNNING.with_borrow_mut(|running| {
            let is_running = running.iter().any(|other| std::ptr::eq(*other, agent));
            (!is_running).then(|| {
                running.push(agent);
                Transforming
            })
        })
    }
}

impl Drop for Transforming {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|running| _ = running.pop());
    }
}

thread_local! {
    /// The agents whose transformers this thread is running, the innermost last.
    static RUNNING: RefCell<Vec<&'static RootSlot>> = const { RefCell::new(Vec::new()) };
}

const IMPLEMENTATION: &str = "sun/instrument/InstrumentationImpl";
const TRANSFORM: &str = "(Ljava/lang/Module;Ljava/lang/ClassLoader;Ljava/lang/String;Ljava/lang/Class;\
                         Ljava/security/ProtectionDomain;[BZ)[B";
