//! The system properties that the VM sets (`jdk.internal.util.SystemProps` does the rest).

use crate::ffi::entry::Env;
use crate::ffi::types::{jobject, jobjectArray};
use crate::java::objects;
use crate::loading::call;
use crate::machine::{JavaThread, Vm};
use crate::options::identity::{VM_NAME, VM_VENDOR, vm_info, vm_version};
use gc::object::ObjectRef;

/// Names and values in turn.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetProperties(env: Env) -> jobjectArray {
    env.enter(|t| {
        let properties = all(t.vm);
        let flat: Vec<String> = properties.into_iter().flat_map(|(k, v)| [k, v]).collect();
        objects::string_array(t, &flat)
    })
}

/// Properties of the VM first, then those of the command line, which win.
pub fn all(vm: &Vm) -> Vec<(String, String)> {
    let home = vm.options.java_home.display().to_string();
    let direct = match vm.options.max_direct_memory {
        Some(bytes) => bytes.to_string(),
        None => "-1".into(),
    };
    let own = [
        ("java.vm.specification.name", "Java Virtual Machine Specification".into()),
        ("java.vm.specification.vendor", "Oracle Corporation".into()),
        ("java.vm.specification.version", "17".into()),
        ("java.vm.name", VM_NAME.into()),
        ("java.vm.vendor", VM_VENDOR.into()),
        ("java.vm.version", vm_version(&vm.options.java_home)),
        ("java.vm.info", vm_info(&vm.options.jit).into()),
        ("jdk.debug", "release".into()),
        ("java.home", home.clone()),
        ("sun.boot.library.path", format!("{home}/lib")),
        ("java.library.path", library_path()),
        ("java.class.path", std::env::var("CLASSPATH").unwrap_or_default()),
        ("sun.nio.MaxDirectMemorySize", direct),
        ("sun.nio.PageAlignDirectMemory", "false".into()),
    ];
    let mut properties: Vec<(String, String)> =
        own.into_iter().map(|(key, value)| (key.to_string(), value)).collect();
    if vm.options.jit.compiles() {
        properties.push(("sun.management.compiler".into(), COMPILER_NAME.into()));
    }
    for (key, value) in &vm.options.properties {
        // These describe this VM, and the command line cannot change them.
        if FIXED.contains(&key.as_str()) {
            continue;
        }
        if key == "sun.boot.library.path" {
            // Appended, as `java` does: the own folder stays the first.
            let own = properties.iter_mut().find(|(known, _)| known == key);
            own.expect("set above").1 += &format!(":{value}");
            continue;
        }
        properties.retain(|(known, _)| known != key);
        properties.push((key.clone(), value.clone()));
    }
    properties
}

/// `LD_LIBRARY_PATH`, then where Debian and others keep libraries for Java.
fn library_path() -> String {
    let system = "/usr/java/packages/lib:/usr/lib/x86_64-linux-gnu/jni:/lib/x86_64-linux-gnu:\
                  /usr/lib/x86_64-linux-gnu:/usr/lib/jni:/lib64:/lib:/usr/lib";
    match std::env::var("LD_LIBRARY_PATH") {
        Ok(path) if !path.is_empty() => format!("{path}:{system}"),
        _ => system.into(),
    }
}

/// Properties that `VirtualMachine.getAgentProperties` shows.
#[unsafe(no_mangle)]
extern "C" fn JVM_InitAgentProperties(env: Env, properties: jobject) -> jobject {
    env.enter(|t| {
        let properties = crate::ffi::entry::non_null(t, properties)?;
        let command = t.vm.options.property("sun.java.command").unwrap_or("").to_string();
        let flags = t.vm.options.flags.iter().map(|(k, v)| format!("-XX:{k}={v}"));
        let flags: Vec<String> = flags.collect();
        let pairs = [
            ("sun.java.command", command),
            ("sun.jvm.flags", flags.join(" ")),
            ("sun.jvm.args", t.vm.options.arguments.join(" ")),
        ];
        for (key, value) in pairs {
            let _scope = t.scope();
            let key = string(t, key)?;
            let value = string(t, &value)?;
            let descriptor = "(Ljava/lang/Object;Ljava/lang/Object;)Ljava/lang/Object;";
            call::call_virtual(t, properties, "put", descriptor, &[key, value])?;
        }
        Ok(properties)
    })
}

fn string(t: &JavaThread, text: &str) -> crate::runtime::JResult<crate::runtime::Handle> {
    Ok(t.root(crate::loading::strings::from_str(t, text)?))
}

/// The options as given, or null.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetVmArguments(env: Env) -> jobjectArray {
    env.enter(|t| match t.vm.options.arguments.as_slice() {
        [] => Ok(ObjectRef::NULL),
        arguments => objects::string_array(t, arguments),
    })
}

/// Bean of compilation; with `-Xint` there is none.
const COMPILER_NAME: &str = "Farheap 64-Bit Compiler";

const FIXED: [&str; 10] = [
    "java.vm.specification.name",
    "java.vm.specification.vendor",
    "java.vm.specification.version",
    "java.vm.name",
    "java.vm.vendor",
    "java.vm.version",
    "java.vm.info",
    "jdk.debug",
    "sun.nio.MaxDirectMemorySize",
    "sun.nio.PageAlignDirectMemory",
];
