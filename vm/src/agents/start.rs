//! Starting agents.

use super::IMPLEMENTATION;
use super::manifest::Manifest;
use crate::java::{objects, uncaught};
use crate::loading::{allocate, call, errors, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, Throw};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use std::path::Path;

/// How an agent comes to be started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// `-javaagent`.
    Premain,
    /// A tool has attached to the VM.
    Attached,
    /// The jar of the main program names an agent.
    Launcher,
}

/// Why an agent was not started.
#[derive(Debug)]
pub enum NotStarted {
    /// There is no such jar, or it has no manifest.
    BadJar,
    /// The manifest does not name the class.
    NoClass(&'static str),
    /// Java code has thrown an exception, which is pending.
    Threw(Throw),
}

/// Starts the agents of the command line in their order. An error is a message for the user. An agent that throws an
/// exception ends the process, as under HotSpot.
pub fn start_all(t: &JavaThread) -> Result<(), String> {
    for agent in &t.vm.options.java_agents {
        let reason = match load(t, Kind::Premain, &agent.jar, agent.options.as_deref()) {
            Ok(()) => continue,
            Err(NotStarted::Threw(thrown)) => {
                uncaught::print(t, thrown);
                base::say(format_args!(
                    "FATAL ERROR in native method: processing of -javaagent failed, processJavaStart failed"
                ));
                std::process::abort()
            }
            Err(NotStarted::BadJar) => {
                format!("Error opening zip file or JAR manifest missing : {}", agent.jar)
            }
            Err(NotStarted::NoClass(attribute)) => {
                format!("Failed to find {attribute} manifest attribute in {}", agent.jar)
            }
        };
        return Err(format!("{reason}\nagent library failed to init: instrument"));
    }
    Ok(())
}

/// Starts the agent of a jar. Runs Java code.
pub fn load(
    t: &JavaThread,
    kind: Kind,
    jar: &str,
    options: Option<&str>,
) -> Result<(), NotStarted> {
    let appended =
        t.vm.appended.get().expect("the boot class path is open when classes are loaded");
    let manifest = t.safely(|| appended.read_from(jar, "META-INF/MANIFEST.MF"));
    let manifest = Manifest::parse(&manifest.ok_or(NotStarted::BadJar)?);
    let attribute = kind.attribute();
    let class = manifest.get(attribute).ok_or(NotStarted::NoClass(attribute))?;
    let path = std::path::absolute(jar).unwrap_or_else(|_| jar.into());
    let folder = path.parent().unwrap_or(Path::new("/"));
    for entry in manifest.get("Boot-Class-Path").unwrap_or_default().split_ascii_whitespace() {
        t.safely(|| appended.append(&folder.join(entry).to_string_lossy()));
    }
    // The command line's are on the class path already, the main program is the class path.
    let appends = kind == Kind::Attached;
    run(t, kind, class, options, appends.then_some(jar)).map_err(NotStarted::Threw)
}

fn run(
    t: &JavaThread,
    kind: Kind,
    class: &str,
    options: Option<&str>,
    appended: Option<&str>,
) -> JResult<()> {
    let _scope = t.scope();
    if kind != Kind::Premain {
        // `-javaagent` asks for it when the VM starts.
        objects::load_module(t, "java.instrument")?;
    }
    if let Some(jar) = appended {
        append_to_system_loader(t, jar)?;
    }
    let instrumentation = instrumentation(t)?;
    let class = t.root(strings::from_str(t, class)?);
    let options = match options {
        Some(options) => t.root(strings::from_str(t, options)?),
        None => t.root(ObjectRef::NULL),
    };
    let descriptor = "(Ljava/lang/String;Ljava/lang/String;)V";
    call::call_virtual(t, instrumentation, kind.method(), descriptor, &[class, options])?;
    Ok(())
}

/// A new `InstrumentationImpl`, which the VM keeps.
fn instrumentation(t: &JavaThread) -> JResult<Handle> {
    let implementation = objects::boot_class(t, IMPLEMENTATION)?;
    let instrumentation = t.root(allocate::new_instance(t, implementation)?);
    let slot = t.vm.boot_loader.holder.roots.lock().take();
    t.store_root(slot, instrumentation.get());
    let number = t.vm.agents.add(slot) as u64;
    let constructor = call::find(implementation, "<init>", "(JZZ)V");
    let (redefines, prefixes) = (0, 0);
    // A long takes two slots.
    let arguments = [instrumentation.get().address() as u64, number, 0, redefines, prefixes];
    t.call(constructor, &arguments)?;
    Ok(instrumentation)
}

/// Appends a jar to the class path of the system class loader, which must offer that.
pub fn append_to_system_loader(t: &JavaThread, jar: &str) -> JResult<()> {
    let _scope = t.scope();
    let loader = t.vm.known.system_loader.get().expect("agents start after class loaders");
    let loader = t.root(t.load_root(&loader.object));
    let jar = t.root(strings::from_str(t, jar)?);
    let (name, descriptor) = ("appendToClassPathForInstrumentation", "(Ljava/lang/String;)V");
    let klass = t.klass_of(loader.get());
    if klass.find_method(Symbol::of(name), Symbol::of(descriptor)).is_none() {
        let message = format!("{} has no method {name}", klass.java_name());
        return errors::fail(t, "java/lang/InternalError", &message);
    }
    call::call_virtual(t, loader, name, descriptor, &[jar])?;
    Ok(())
}

impl Kind {
    /// The attribute of the manifest that names the agent's class.
    fn attribute(self) -> &'static str {
        match self {
            Kind::Premain => "Premain-Class",
            Kind::Attached => "Agent-Class",
            Kind::Launcher => "Launcher-Agent-Class",
        }
    }

    /// The method of `InstrumentationImpl` that starts it.
    fn method(self) -> &'static str {
        match self {
            Kind::Premain => "loadClassAndCallPremain",
            Kind::Attached | Kind::Launcher => "loadClassAndCallAgentmain",
        }
    }
}
