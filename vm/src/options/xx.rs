//! `-XX` options.

use super::flags::{self, Kind, Level};
use super::{BadOption, Options};
use crate::options::pattern::MethodPattern;
use base::options::{BadSetting, Count, OptionGroup, Setting, Unit};
use base::units::parse_bandwidth;
use gc::options::{CollectorKind, LocalMemory, parse_bytes};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Which kinds of option may be used.
#[derive(Default)]
pub struct Unlocked {
    pub ignore_unrecognized: bool,
    pub diagnostic: bool,
    pub experimental: bool,
}

/// An option taken apart: `+Name`, `-Name` or `Name=value`.
pub(super) struct Flag<'a> {
    text: &'a str,
    pub name: &'a str,
    pub value: Setting<'a>,
}

impl Unlocked {
    /// Reads what follows `-XX:`.
    pub fn read(
        &mut self,
        text: &str,
        options: &mut Options,
        initial_bytes: &mut Option<usize>,
    ) -> Result<(), BadOption> {
        let flag = Flag::parse(text);
        options.flags.push((flag.name.into(), flag.shown_value().into()));
        match (flag.name, flag.value) {
            ("UnlockDiagnosticVMOptions", Setting::On) => self.diagnostic = true,
            ("UnlockExperimentalVMOptions", Setting::On) => self.experimental = true,
            _ => (),
        }
        if heap_flag(&flag, options, initial_bytes)?
            || far_flag(&flag, options)?
            || flag.set(&mut options.heap)?
            || flag.set(&mut options.heap.shenandoah)?
            || flag.set(&mut options.heap.semeru)?
            || flag.set(&mut options.heap.mako)?
            || flag.set(&mut options.heap.memliner)?
            || own_jit_flag(&flag, options)?
        {
            return Ok(());
        }
        let Some((kind, level)) = flags::find(flag.name) else {
            if self.ignore_unrecognized {
                return Ok(());
            }
            return Err(flag.unrecognized(options));
        };
        if !self.ignore_unrecognized {
            self.check_level(&flag, level)?;
        }
        flag.check_form(kind)?;
        flag.set(&mut options.heap.g1)?;
        vm_flag(&flag, options)?;
        jit_flag(&flag, options)
    }

    fn check_level(&self, flag: &Flag<'_>, level: Level) -> Result<(), BadOption> {
        let (word, unlock, is_unlocked) = match level {
            Level::Product => return Ok(()),
            Level::Diagnostic => ("diagnostic", "UnlockDiagnosticVMOptions", self.diagnostic),
            Level::Experimental => {
                ("experimental", "UnlockExperimentalVMOptions", self.experimental)
            }
        };
        if is_unlocked {
            return Ok(());
        }
        let name = flag.name;
        Err(BadOption(format!(
            "Error: VM option '{name}' is {word} and must be enabled via -XX:+{unlock}.\n\
             Error: The unlock option must precede '{name}'."
        )))
    }
}

/// Collectors and heap sizes.
fn heap_flag(
    flag: &Flag<'_>,
    options: &mut Options,
    initial_bytes: &mut Option<usize>,
) -> Result<bool, BadOption> {
    let heap = &mut options.heap;
    match (flag.name, flag.value) {
        ("MaxHeapSize", Setting::Text(_)) => {
            heap.max_bytes = flag.heap_bytes("maximum heap size")?
        }
        ("InitialHeapSize", Setting::Text(_)) => {
            *initial_bytes = Some(flag.heap_bytes("initial heap size")?);
        }
        ("G1HeapRegionSize" | "ShenandoahRegionSize", Setting::Text(_)) => {
            heap.region_bytes = Some(flag.bytes()?)
        }
        ("Collector", Setting::Text(name)) => {
            heap.collector = name.parse().map_err(BadOption)?;
        }
        ("UseParallelGC" | "UseZGC", Setting::On) => heap.collector = stand_in()?,
        (name, Setting::On | Setting::Off) => {
            let Some(collector) = collector_switch(name) else {
                return Ok(false);
            };
            if matches!(flag.value, Setting::On) {
                heap.collector = collector;
            }
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// `UseMakoGC` names the collector `mako`, `UseMemLinerG1GC` `memliner-g1`.
fn collector_switch(name: &str) -> Option<CollectorKind> {
    let middle = name.strip_prefix("Use")?.strip_suffix("GC")?;
    let is_named =
        |kind: &&CollectorKind| kind.name().replace('-', "").eq_ignore_ascii_case(middle);
    CollectorKind::ALL.iter().find(is_named).copied()
}

/// What runs instead of HotSpot collectors that this VM does not have.
fn stand_in() -> Result<CollectorKind, BadOption> {
    let collecting = CollectorKind::ALL.iter().copied().find(|kind| kind.collects());
    Ok(collecting.unwrap_or(CollectorKind::ALL[0]))
}

fn server_address(what: &str, address: &str) -> Result<rdma::ServerAddress, BadOption> {
    address.parse().map_err(|error| BadOption(format!("{what} {address}: {error}")))
}

/// Options of this VM alone.
fn far_flag(flag: &Flag<'_>, options: &mut Options) -> Result<bool, BadOption> {
    let heap = &mut options.heap;
    match (flag.name, flag.value) {
        ("JavaHome", Setting::Text(path)) => options.java_home = path.into(),
        ("LocalMemory", Setting::Text(text)) => {
            heap.local_memory = text.parse::<LocalMemory>().map_err(BadOption)?;
        }
        ("LocalMemoryPool", Setting::Text(text)) => {
            heap.local_memory_pool = Some(text.parse().map_err(BadOption)?);
        }
        ("MemoryServer", Setting::Text(address)) => {
            heap.memory_server_addresses.push(server_address("memory server", address)?);
            heap.memory_servers = heap.memory_server_addresses.len() as u16;
        }
        ("SpareMemoryServer", Setting::Text(address)) => {
            heap.spare_memory_servers.push(server_address("spare memory server", address)?);
        }
        ("MemoryServerProgram", Setting::Text(path)) => {
            heap.memory_server_program = Some(path.into());
        }
        ("TokenFile", Setting::Text(path)) => {
            let token = rdma::Token::read(path.as_ref());
            heap.memory_server_token = token.map_err(|error| BadOption(error.to_string()))?;
        }
        ("Transport", Setting::Text(name)) => heap.transport = name.parse().map_err(BadOption)?,
        ("Prefetcher", Setting::Text(name)) => heap.prefetcher = name.parse().map_err(BadOption)?,
        ("FarLatency", Setting::Text(text)) => {
            heap.far_latency = parse_duration(text)
                .ok_or_else(|| BadOption(format!("malformed latency: {text} (as in 5us)")))?;
        }
        ("FarBandwidth", Setting::Text(text)) => {
            heap.far_bandwidth = parse_bandwidth(text)
                .ok_or_else(|| BadOption(format!("malformed bandwidth: {text} (as in 40gbit)")))?;
        }
        ("FarDisturbance", Setting::Text(_)) => heap.far_disturbance = Some(flag.number()? as u64),
        ("StatsFile", Setting::Text(path)) => options.stats_file = Some(path.into()),
        ("MetricsAddress", Setting::Text(address)) => {
            options.metrics_address = Some(address.into())
        }
        ("RegionSize", Setting::Text(_)) => heap.region_bytes = Some(flag.bytes()?),
        ("UseCompressedOops", Setting::On) => heap.compressed_oops = Some(true),
        ("UseCompressedOops", Setting::Off) => heap.compressed_oops = Some(false),
        _ => return Ok(false),
    }
    Ok(true)
}

/// Refuses what HotSpot refuses, with its words, and all else but the one alignment that this VM has.
fn check_alignment(bytes: usize) -> Result<(), BadOption> {
    let name = "ObjectAlignmentInBytes";
    Err(BadOption(match bytes {
        8 => return Ok(()),
        ..8 | 257.. => format!("intx {name}={bytes} is outside the allowed range [ 8 ... 256 ]"),
        _ if !bytes.is_power_of_two() => format!("{name} ({bytes}) must be power of 2"),
        _ => format!("{name}={bytes} is not supported: objects are aligned to 8 bytes"),
    }))
}

/// HotSpot options that mean something here too.
fn vm_flag(flag: &Flag<'_>, options: &mut Options) -> Result<(), BadOption> {
    let is_on = matches!(flag.value, Setting::On);
    match flag.name {
        "BytecodeVerificationRemote" => options.verify_remote = is_on,
        "BytecodeVerificationLocal" => options.verify_boot = is_on,
        "DisableExplicitGC" => options.disable_explicit_gc = is_on,
        "ReduceSignalUsage" => options.reduce_signals = is_on,
        "StackTraceInThrowable" => options.stack_trace_in_throwable = is_on,
        "ShowCodeDetailsInExceptionMessages" => options.helpful_null_pointers = is_on,
        "ExitOnOutOfMemoryError" => options.exit_on_out_of_memory = is_on,
        "CrashOnOutOfMemoryError" => options.crash_on_out_of_memory = is_on,
        "CreateCoredumpOnCrash" => options.dumps_core = is_on,
        "ActiveProcessorCount" => options.processors = flag.number()?,
        "ObjectAlignmentInBytes" => check_alignment(flag.number()?)?,
        "MaxDirectMemorySize" => options.max_direct_memory = Some(flag.bytes()?),
        "MaxJavaStackTraceDepth" => options.max_stack_trace_depth = flag.number()?,
        "ThreadStackSize" => {
            let bytes = flag.number()?.saturating_mul(1 << 10);
            check_stack_bytes(bytes)?;
            if bytes > 0 {
                options.stack_bytes = bytes;
            }
        }
        _ => (),
    }
    Ok(())
}

/// Options of this VM's compiler alone.
fn own_jit_flag(flag: &Flag<'_>, options: &mut Options) -> Result<bool, BadOption> {
    match (flag.name, flag.value) {
        ("JitStress", Setting::Text(_)) => options.jit.stress = Some(flag.number()? as u64),
        ("FoldStaticFinals", Setting::On | Setting::Off) => {
            options.jit.folds_static_finals = matches!(flag.value, Setting::On);
        }
        ("TrustFinalNonStaticFields", Setting::On | Setting::Off) => {
            options.jit.trusts_final_fields = matches!(flag.value, Setting::On);
        }
        _ => return Ok(false),
    }
    Ok(true)
}

/// HotSpot options about compiling that mean something here too.
fn jit_flag(flag: &Flag<'_>, options: &mut Options) -> Result<(), BadOption> {
    let jit = &mut options.jit;
    let is_on = matches!(flag.value, Setting::On);
    match flag.name {
        "UseCompiler" => jit.is_on = is_on,
        "TieredStopAtLevel" if flag.shown_value() == "0" => jit.is_on = false,
        "BackgroundCompilation" => jit.is_background = is_on,
        "PrintCompilation" => jit.print = is_on,
        "UseLibmIntrinsic" => jit.uses_libm = is_on,
        "DumpPerfMapAtExit" => jit.dump_perf_map = is_on,
        "CICompilerCount" => jit.threads = flag.within(0..=64)?,
        "ReservedCodeCacheSize" => jit.cache_bytes = flag.bytes()?,
        "CompileThreshold" => jit.call_threshold = flag.within(0..=1 << 30)?.max(1) as i32,
        "OnStackReplacePercentage" => {
            jit.loop_percentage = flag.within(0..=1 << 30)?.max(1) as u32;
        }
        "CompileOnly" => {
            jit.only.extend(flag.shown_value().split(',').filter_map(MethodPattern::parse));
        }
        "CompileCommand" => jit.command(flag.shown_value()),
        _ => (),
    }
    Ok(())
}

/// `java` refuses stacks that are too small to run anything, or larger than it can say. 0 is the default.
pub fn check_stack_bytes(bytes: usize) -> Result<(), BadOption> {
    if bytes > STACK_BYTES_MAX {
        let most = STACK_BYTES_MAX >> 10;
        return Err(BadOption(format!(
            "Invalid thread stack size: {}k is more than {most}k",
            bytes >> 10
        )));
    }
    if bytes == 0 || bytes >= STACK_BYTES_MIN {
        return Ok(());
    }
    let least = STACK_BYTES_MIN >> 10;
    let message = "The Java thread stack size specified is too small.";
    Err(BadOption(format!("\n{message} Specify at least {least}k")))
}

impl<'a> Flag<'a> {
    fn parse(text: &'a str) -> Flag<'a> {
        if let Some(name) = text.strip_prefix('+') {
            return Flag { text, name, value: Setting::On };
        }
        if let Some(name) = text.strip_prefix('-') {
            return Flag { text, name, value: Setting::Off };
        }
        match text.split_once('=') {
            // `:=` is an old way to write a text value.
            Some((name, value)) => {
                Flag { text, name: name.trim_end_matches(':'), value: Setting::Text(value) }
            }
            None => Flag { text, name: text, value: Setting::Missing },
        }
    }

    fn shown_value(&self) -> &'a str {
        match self.value {
            Setting::On => "true",
            Setting::Off => "false",
            Setting::Text(text) => text,
            Setting::Missing => "",
        }
    }

    fn check_form(&self, kind: Kind) -> Result<(), BadOption> {
        let is_switch = matches!(self.value, Setting::On | Setting::Off);
        let bad = match (kind, self.value) {
            (Kind::Switch, Setting::Text(_) | Setting::Missing) => {
                BadSetting::Form { is_switch: true }
            }
            (Kind::Number | Kind::Fraction | Kind::Text, _) if is_switch => {
                BadSetting::Form { is_switch: false }
            }
            (Kind::Number, Setting::Text(text)) if !is_number(text) => improper(),
            (Kind::Fraction, Setting::Text(text)) if text.parse::<f64>().is_err() => improper(),
            (_, Setting::Missing) => improper(),
            _ => return Ok(()),
        };
        Err(self.bad(bad))
    }

    /// The message for a setting of this option that is refused.
    fn bad(&self, bad: BadSetting) -> BadOption {
        BadOption(bad.message(self.name, self.text))
    }

    /// With the option that may be meant, as `java` has it.
    fn unrecognized(&self, options: &Options) -> BadOption {
        let text = self.text.strip_prefix(['+', '-']).unwrap_or(self.text);
        let rows = options.heap.groups().into_iter().flat_map(OptionGroup::rows);
        let own = rows.map(|row| (row.name, row.form.is_empty()));
        let known = flags::all().map(|(name, kind)| (name, kind == Kind::Switch)).chain(own);
        let alike = known.map(|known| (strsim::sorensen_dice(known.0, self.name), known));
        let best = alike.max_by(|a, b| a.0.total_cmp(&b.0));
        let meant = match best.filter(|(likeness, _)| *likeness >= LIKENESS_LEAST) {
            Some((_, (name, true))) => format!("\nDid you mean '(+/-){name}'?"),
            Some((_, (name, false))) => format!("\nDid you mean '{name}=<value>'?"),
            None => String::new(),
        };
        BadOption(format!("Unrecognized VM option '{text}'{meant}"))
    }

    fn bytes(&self) -> Result<usize, BadOption> {
        parse_bytes(self.shown_value()).ok_or_else(|| self.bad(improper()))
    }

    fn heap_bytes(&self, what: &str) -> Result<usize, BadOption> {
        self.bytes().map_err(|_| BadOption(format!("Invalid {what}: -XX:{}", self.text)))
    }

    fn number(&self) -> Result<usize, BadOption> {
        self.bytes()
    }

    fn within(&self, range: RangeInclusive<u64>) -> Result<usize, BadOption> {
        Count::read(self.value, Some(range)).map_err(|bad| self.bad(bad))
    }

    /// Sets it if it is an option of the group.
    fn set(&self, group: &mut dyn OptionGroup) -> Result<bool, BadOption> {
        group.set(self.name, self.value).map_err(|bad| self.bad(bad))
    }
}

/// No value, or none of the option's kind.
fn improper() -> BadSetting {
    BadSetting::Malformed(String::new())
}

/// Digits, with a sign, a hexadecimal prefix or a unit.
fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).is_ok(),
        None => parse_bytes(digits).is_some(),
    }
}

/// `5us`, `300ns`, `2ms`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let number: f64 = text[..digits].parse().ok()?;
    let unit_ns = match &text[digits..] {
        "ns" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        _ => return None,
    };
    Some(Duration::from_nanos((number * unit_ns) as u64))
}

/// How much of an unknown option's name must be that of a known one.
const LIKENESS_LEAST: f64 = 0.7;
const STACK_BYTES_MIN: usize = 136 << 10;
const STACK_BYTES_MAX: usize = 1 << 30;
