//! `GC.*`

use super::{Arguments, Command, Failure, Kind, Parameter};
use crate::diagnostics::heap_dump::{self, Request};
use crate::java::objects;
use crate::loading::call;
use crate::machine::JavaThread;
use crate::threads::histogram;
use gc::core::outcome::CollectCause;
use std::fmt::Write;
use std::path::Path;

pub const COMMANDS: &[Command] = &[
    Command {
        name: "GC.class_histogram",
        description: "Provide statistics about the Java heap usage.",
        impact: "High: Depends on Java heap size and content.",
        parameters: &[
            switch("-all", "Accepted as HotSpot's: objects that nothing reaches are never counted"),
            Parameter {
                name: "-parallel",
                description: "Accepted as HotSpot's: one thread counts",
                kind: Kind::Number,
                default: Some("0"),
                is_mandatory: false,
            },
        ],
        run: |t, _, out| {
            *out += &histogram::text(t);
            Ok(())
        },
    },
    Command {
        name: "GC.heap_dump",
        description: "Generate a HPROF format dump of the Java heap.",
        impact: "High: Depends on Java heap size and content. Runs a full GC first.",
        parameters: &[
            switch("-all", "Accepted as HotSpot's: objects that nothing reaches are never dumped"),
            Parameter {
                name: "-gz",
                description: "Compress the dump with gzip at this level, 1 (recommended) to 9",
                kind: Kind::Number,
                default: None,
                is_mandatory: false,
            },
            switch("-overwrite", "Overwrite the file if it exists"),
            Parameter {
                name: "filename",
                description: "Name of the dump file",
                kind: Kind::Argument,
                default: None,
                is_mandatory: true,
            },
        ],
        run: heap_dump,
    },
    Command {
        name: "GC.heap_info",
        description: "Provide generic Java heap information.",
        impact: "Medium",
        parameters: &[],
        run: |t, _, out| {
            heap_info(t, out);
            Ok(())
        },
    },
    Command {
        name: "GC.run",
        description: "Call java.lang.System.gc().",
        impact: "Medium: Depends on Java heap size and content.",
        parameters: &[],
        run,
    },
    Command {
        name: "GC.run_finalization",
        description: "Call java.lang.System.runFinalization().",
        impact: "Medium: Depends on Java content.",
        parameters: &[],
        run: run_finalization,
    },
];

const fn switch(name: &'static str, description: &'static str) -> Parameter {
    let (kind, default) = (Kind::Switch, Some("false"));
    Parameter { name, description, kind, default, is_mandatory: false }
}

fn heap_dump(t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    let gzip_level = match arguments.text("-gz") {
        None => 0,
        Some(text) => heap_dump::parse_gzip_level(text)?,
    };
    let request = Request {
        path: Path::new(arguments.text("filename").unwrap_or_default()),
        gzip_level,
        may_overwrite: arguments.is_on("-overwrite"),
    };
    *out += &heap_dump::write_and_report(t, &request);
    Ok(())
}

fn heap_info(t: &JavaThread, out: &mut String) {
    let stats = t.vm.heap.totals();
    let kib = |bytes: usize| bytes >> 10;
    let (total, used, max) = (stats.committed_bytes, stats.used_bytes, stats.max_bytes);
    let collector = stats.collector;
    let _ = writeln!(
        out,
        " {collector} heap   total {}K, used {}K, max {}K\n  region size {}K",
        kib(total),
        kib(used),
        kib(max),
        kib(stats.region_bytes)
    );
    if let Some(pager) = &stats.pager {
        let (resident, budget) = (kib(pager.resident_bytes), kib(pager.budget_bytes));
        let _ = writeln!(out, "  local memory {budget}K, resident {resident}K");
    }
    let cache = &t.vm.jit.cache;
    let _ = writeln!(
        out,
        " Code cache  total {}K, used {}K",
        kib(cache.capacity_bytes()),
        kib(cache.used_bytes())
    );
}

fn run(t: &JavaThread, _arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    if t.vm.options.disable_explicit_gc {
        out.push_str("Explicit GC is disabled, no GC has been performed.\n");
    } else {
        t.vm.heap.collect(&t.mutator, CollectCause::SystemGc);
    }
    Ok(())
}

fn run_finalization(
    t: &JavaThread,
    _arguments: &Arguments,
    _out: &mut String,
) -> Result<(), Failure> {
    let system = objects::boot_class(t, "java/lang/System")?;
    call::call_static(t, system, "runFinalization", "()V", &[])?;
    Ok(())
}
