//! `Thread.print`, `VM.*` and `Compiler.*`

use super::{Arguments, Command, Failure, Kind, Parameter};
use crate::diagnostics::fault_profile::Written;
use crate::diagnostics::heap_dump::reason;
use crate::diagnostics::native_memory::{self, Scale};
use crate::diagnostics::operations;
use crate::diagnostics::running::{self, Refusal};
use crate::machine::JavaThread;
use crate::options::identity::{VM_NAME, library_version, vm_version};
use crate::options::shown::Origin;
use crate::threads::dump::{self, Details};
use std::fmt::Write;
use std::path::Path;

pub const COMMANDS: &[Command] = &[
    Command {
        name: "Compiler.codecache",
        description: "Print code cache layout and bounds.",
        impact: "Low",
        parameters: &[],
        run: code_cache,
    },
    Command {
        name: "Thread.print",
        description: "Print all threads with stacktraces.",
        impact: "Medium: Depends on the number of threads. With -l the whole heap is walked.",
        parameters: &[
            switch("-l", "print java.util.concurrent locks"),
            switch("-e", "print extended thread information"),
        ],
        run: |t, arguments, out| {
            let (synchronizers, allocation) = (arguments.is_on("-l"), arguments.is_on("-e"));
            *out += &dump::text(t, Details { synchronizers, allocation });
            Ok(())
        },
    },
    Command {
        name: "VM.command_line",
        description: "Print the command line used to start this VM instance.",
        impact: "Low",
        parameters: &[],
        run: command_line,
    },
    Command {
        name: "VM.fault_profile",
        description: "Write the profile of page faults so far, by Java method and line, as collapsed stacks. Needs \
                      --fault-profile.",
        impact: "Low",
        parameters: &[argument("filename", "The file; else that of --fault-profile", false)],
        run: fault_profile,
    },
    Command {
        name: "VM.flags",
        description: "Print VM flag options and their current values.",
        impact: "Low",
        parameters: &[switch("-all", "Print all flags supported by the VM")],
        run: flags,
    },
    Command {
        name: "VM.native_memory",
        description: "Print native memory usage",
        impact: "Medium",
        parameters: &[
            switch("summary", "Accepted as HotSpot's: there is only a summary"),
            Parameter {
                name: "scale",
                description: "Memory usage in which scale, KB, MB or GB",
                kind: Kind::Text,
                default: Some("KB"),
                is_mandatory: false,
            },
        ],
        run: native_memory,
    },
    Command {
        name: "VM.set_flag",
        description: "Sets VM flag option using the provided value.",
        impact: "Low",
        parameters: &[
            argument("flag name", "The name of the flag that you want to set", true),
            argument("string value", "The value that you want to set", false),
        ],
        run: set_flag,
    },
    Command {
        name: "VM.stringtable",
        description: "Dump string table.",
        impact: "Medium: Depends on Java content.",
        parameters: &[switch("-verbose", "Dump the content of each string in the table")],
        run: string_table,
    },
    Command {
        name: "VM.symboltable",
        description: "Dump symbol table.",
        impact: "Medium: Depends on Java content.",
        parameters: &[switch("-verbose", "Dump the content of each symbol in the table")],
        run: symbol_table,
    },
    Command {
        name: "VM.system_properties",
        description: "Print system properties.",
        impact: "Low",
        parameters: &[],
        run: |t, _, out| {
            *out += &operations::system_properties(t)?;
            Ok(())
        },
    },
    Command {
        name: "VM.uptime",
        description: "Print VM uptime.",
        impact: "Low",
        parameters: &[switch("-date", "Add a prefix with current date")],
        run: |t, arguments, out| {
            if arguments.is_on("-date") {
                let _ = write!(out, "{}: ", dump::local_time());
            }
            let _ = writeln!(out, "{:.3} s", t.vm.uptime_s());
            Ok(())
        },
    },
    Command {
        name: "VM.version",
        description: "Print JVM version information.",
        impact: "Low",
        parameters: &[],
        run: version,
    },
];

const fn switch(name: &'static str, description: &'static str) -> Parameter {
    let (kind, default) = (Kind::Switch, Some("false"));
    Parameter { name, description, kind, default, is_mandatory: false }
}

const fn argument(name: &'static str, description: &'static str, is_mandatory: bool) -> Parameter {
    Parameter { name, description, kind: Kind::Argument, default: None, is_mandatory }
}

fn code_cache(t: &JavaThread, _arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let (cache, report) = (&t.vm.jit.cache, t.vm.jit.report());
    let (size, used) = (cache.capacity_bytes() >> 10, cache.used_bytes() >> 10);
    let of = |key: &str| report[key].as_u64().unwrap_or(0);
    let compilation = if t.vm.options.jit.compiles() { "enabled" } else { "disabled" };
    let _ = writeln!(
        out,
        "CodeCache: size={size}Kb used={used}Kb free={}Kb\n \
         total_blobs={} compiled_methods={} compiled_loops={}\n compilation: {compilation}",
        size.saturating_sub(used),
        cache.bodies().len(),
        of("methods"),
        of("loops"),
    );
    Ok(())
}

fn string_table(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let texts = t.vm.strings.texts(t);
    if arguments.is_on("-verbose") {
        *out += "VERSION: 1.1\n";
        for text in &texts {
            let _ = writeln!(out, "{}: {}", text.len(), escaped(text.as_bytes()));
        }
        return Ok(());
    }
    let bytes = texts.iter().map(String::len).sum();
    table_statistics(out, "StringTable", texts.len(), bytes);
    Ok(())
}

/// All VMs of a process share the table.
fn symbol_table(_: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let (mut names, mut bytes, mut listed) = (0, 0, String::from("VERSION: 1.1\n"));
    base::symbol::visit(|name, owners| {
        (names, bytes) = (names + 1, bytes + name.len());
        if arguments.is_on("-verbose") {
            let _ = writeln!(listed, "{} {owners}: {}", name.len(), escaped(name));
        }
    });
    match arguments.is_on("-verbose") {
        true => *out += &listed,
        false => table_statistics(out, "SymbolTable", names, bytes),
    }
    Ok(())
}

/// On one line, as HotSpot does it.
fn escaped(text: &[u8]) -> impl std::fmt::Display + '_ {
    text.escape_ascii()
}

fn table_statistics(out: &mut String, name: &str, entries: usize, bytes: usize) {
    let average = bytes as f64 / entries.max(1) as f64;
    let _ = writeln!(
        out,
        "{name} statistics:\nNumber of entries       : {entries:9}\n\
         Number of literals      : {entries:9} = {bytes:9} bytes, avg {average:7.3}",
    );
}

fn command_line(t: &JavaThread, _arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let options = &t.vm.options;
    out.push_str("VM Arguments:\n");
    if !options.arguments.is_empty() {
        let _ = writeln!(out, "jvm_args: {}", options.arguments.join(" "));
    }
    let command = options.property("sun.java.command").unwrap_or("<unknown>");
    let class_path = options.property("java.class.path").unwrap_or("<not set>");
    let launcher = options.property("sun.java.launcher").unwrap_or("generic");
    let _ = writeln!(
        out,
        "java_command: {command}\njava_class_path (initial): {class_path}\n\
         Launcher Type: {launcher}"
    );
    Ok(())
}

fn fault_profile(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let Some(profile) = &t.vm.diagnostics.fault_profile else {
        return Err(Failure::Failed(
            "There is no profile: start the VM with --fault-profile FILE\n".into(),
        ));
    };
    let file = arguments.text("filename").map_or(profile.file(), Path::new);
    // The world may be stopped meanwhile.
    let written = t.safely(|| profile.write(t.vm, file));
    let name = file.display();
    let Written { faults, lost } = written
        .map_err(|error| Failure::Failed(format!("cannot write {name}: {}\n", reason(&error))))?;
    let _ = writeln!(out, "Faults of {faults} pages written to {name}");
    if lost > 0 {
        let _ = writeln!(out, "Samples of {lost} faults were lost");
    }
    Ok(())
}

fn flags(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let mut all = running::all(t.vm);
    all.sort_by(|a, b| a.shown.name.cmp(&b.shown.name));
    if arguments.is_on("-all") {
        out.push_str("[Global flags]\n");
        all.iter().for_each(|running| running.shown.write_line(out));
        return Ok(());
    }
    let is_listed =
        |running: &&running::Running| running.shown.origin != Origin::Default || running.is_changed;
    let listed = all.iter().filter(is_listed).map(|running| running.shown.as_argument());
    let _ = writeln!(out, "{}", listed.collect::<Vec<_>>().join(" "));
    Ok(())
}

fn native_memory(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let (unit, shift) = match arguments.text("scale").unwrap_or("KB") {
        unit @ ("KB" | "kb" | "K" | "k") => (unit, 10),
        unit @ ("MB" | "mb" | "M" | "m") => (unit, 20),
        unit @ ("GB" | "gb" | "G" | "g") => (unit, 30),
        other => return Err(Failure::Refused(format!("Incorrect scale value: {other}"))),
    };
    if arguments.text("summary") == Some("false") {
        out.push_str("No command to execute\n");
        return Ok(());
    }
    native_memory::write(t.vm, Scale { unit, shift }, out);
    Ok(())
}

fn set_flag(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let name = arguments.text("flag name").unwrap_or_default();
    // A switch that is named alone is switched on.
    let value = arguments.text("string value").unwrap_or("true");
    match running::set(t.vm, name, value) {
        Ok(()) => {}
        Err(Refusal::Unknown) => {
            let _ = writeln!(out, "flag {name} does not exist");
        }
        Err(Refusal::NotWriteable) => {
            let _ = writeln!(out, "only 'writeable' flags can be set");
        }
        Err(Refusal::BadValue(reason)) => {
            let _ = writeln!(out, "{reason}");
        }
    }
    Ok(())
}

fn version(t: &JavaThread, _arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let home = &t.vm.options.java_home;
    let library = library_version(home).unwrap_or_default();
    let _ = writeln!(out, "{VM_NAME} version {}\nJDK {library}", vm_version(home));
    Ok(())
}
