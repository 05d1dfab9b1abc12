//! `ManagementAgent.*`: the JMX agent of the class library.

use super::{Arguments, Command, Failure, Kind, Parameter};
use crate::java::objects;
use crate::loading::{call, initialize, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;

pub const COMMANDS: &[Command] = &[
    Command {
        name: "ManagementAgent.start",
        description: "Start remote management agent.",
        impact: "Low: No impact",
        parameters: OPTIONS,
        run: start,
    },
    Command {
        name: "ManagementAgent.start_local",
        description: "Start local management agent.",
        impact: "Low: No impact",
        parameters: &[],
        run: |t, _, _| call_agent(t, "startLocalManagementAgent", None),
    },
    Command {
        name: "ManagementAgent.status",
        description: "Print the management agent status.",
        impact: "Low: No impact",
        parameters: &[],
        run: status,
    },
    Command {
        name: "ManagementAgent.stop",
        description: "Stop remote management agent.",
        impact: "Low: No impact",
        parameters: &[],
        run: |t, _, _| call_agent(t, "stopRemoteManagementAgent", None),
    },
];

/// An option `x` sets the property `com.sun.management.x` for the agent.
const OPTIONS: &[Parameter] = &[
    option("config.file", "set com.sun.management.config.file"),
    option("jmxremote.host", "set com.sun.management.jmxremote.host"),
    option("jmxremote.port", "set com.sun.management.jmxremote.port"),
    option("jmxremote.rmi.port", "set com.sun.management.jmxremote.rmi.port"),
    option("jmxremote.ssl", "set com.sun.management.jmxremote.ssl"),
    option("jmxremote.registry.ssl", "set com.sun.management.jmxremote.registry.ssl"),
    option("jmxremote.authenticate", "set com.sun.management.jmxremote.authenticate"),
    option("jmxremote.password.file", "set com.sun.management.jmxremote.password.file"),
    option("jmxremote.access.file", "set com.sun.management.jmxremote.access.file"),
    option("jmxremote.login.config", "set com.sun.management.jmxremote.login.config"),
    option(
        "jmxremote.ssl.enabled.cipher.suites",
        "set com.sun.management.jmxremote.ssl.enabled.cipher.suites",
    ),
    option(
        "jmxremote.ssl.enabled.protocols",
        "set com.sun.management.jmxremote.ssl.enabled.protocols",
    ),
    option(
        "jmxremote.ssl.need.client.auth",
        "set com.sun.management.jmxremote.ssl.need.client.auth",
    ),
    option("jmxremote.ssl.config.file", "set com.sun.management.jmxremote.ssl.config.file"),
    option("jmxremote.autodiscovery", "set com.sun.management.jmxremote.autodiscovery"),
    option("jdp.port", "set com.sun.management.jdp.port"),
    option("jdp.address", "set com.sun.management.jdp.address"),
    option("jdp.source_addr", "set com.sun.management.jdp.source_addr"),
    option("jdp.ttl", "set com.sun.management.jdp.ttl"),
    option("jdp.pause", "set com.sun.management.jdp.pause"),
    option("jdp.name", "set com.sun.management.jdp.name"),
];

const fn option(name: &'static str, description: &'static str) -> Parameter {
    Parameter { name, description, kind: Kind::Text, default: None, is_mandatory: false }
}

fn start(t: &JavaThread, arguments: &Arguments, _out: &mut String) -> Result<(), Failure> {
    let settings =
        arguments.pairs().map(|(name, value)| format!("com.sun.management.{name}={value}"));
    let settings = settings.collect::<Vec<_>>().join(",");
    call_agent(t, "startRemoteManagementAgent", Some(&settings))
}

fn status(t: &JavaThread, _arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let text = call_static(t, "getManagementAgentStatus", "()Ljava/lang/String;", None)?;
    if !text.is_null() {
        *out += &strings::to_text(t, text);
        out.push('\n');
    }
    Ok(())
}

fn call_agent(t: &JavaThread, method: &str, argument: Option<&str>) -> Result<(), Failure> {
    let descriptor = if argument.is_some() { "(Ljava/lang/String;)V" } else { "()V" };
    call_static(t, method, descriptor, argument)?;
    Ok(())
}

fn call_static(
    t: &JavaThread,
    method: &str,
    descriptor: &str,
    argument: Option<&str>,
) -> JResult<ObjectRef> {
    let agent = agent(t)?;
    let argument = argument.map(|text| strings::from_str(t, text)).transpose()?;
    let words: Vec<u64> = argument.iter().map(|text| text.address() as u64).collect();
    let result = call::call_static(t, agent, method, descriptor, &words)?;
    Ok(match descriptor.ends_with('V') {
        true => ObjectRef::NULL,
        false => ObjectRef::from_address(result as usize),
    })
}

/// The class of the agent, initialized. Its module is loaded if the program was started without it.
fn agent(t: &JavaThread) -> JResult<KlassRef> {
    objects::load_module(t, "jdk.management.agent")?;
    let loader = t.vm.known.system_loader.get().expect("diagnostics start after class loaders");
    let agent = lookup::load_class(t, loader, Symbol::of("jdk/internal/agent/Agent"))?;
    initialize::initialize(t, agent)?;
    Ok(agent)
}
