//! `-XX` options.

use super::flags::{self, Kind, Level};
use super::{BadOption, Options, presets};
use crate::options::pattern::MethodPattern;
use base::options::{BadSetting, OptionGroup, Purpose, Setting};
use base::units::parse_bytes;
use gc::options::CollectorKind;

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
    /// Reads the text behind `-XX:`.
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
        let known = flags::find(flag.name);
        if let Some((_, level)) = known
            && !self.ignore_unrecognized
        {
            self.check_level(&flag, level, options)?;
        }
        if written_flag(&flag, options, initial_bytes)? || flag.set(options)? {
            return Ok(());
        }
        match known {
            Some((kind, _)) => flag.check_form(kind),
            None if self.ignore_unrecognized => Ok(()),
            None => Err(flag.unrecognized(options)),
        }
    }

    fn check_level(
        &self,
        flag: &Flag<'_>,
        level: Level,
        options: &Options,
    ) -> Result<(), BadOption> {
        let (word, unlock, is_unlocked) = match level {
            Level::Product => return Ok(()),
            Level::Diagnostic => ("diagnostic", "UnlockDiagnosticVMOptions", self.diagnostic),
            Level::Experimental => {
                ("experimental", "UnlockExperimentalVMOptions", self.experimental)
            }
        };
        if is_unlocked || is_always_unlocked(flag.name, options) {
            return Ok(());
        }
        let name = flag.name;
        Err(BadOption(format!(
            "Error: VM option '{name}' is {word} and must be enabled via -XX:+{unlock}.\n\
             Error: The unlock option must precede '{name}'."
        )))
    }
}

/// Whether an option needs no unlocking, in contrast to HotSpot: the options of the heap's tables, other than G1's,
/// and those of the compiler that are for measurements.
fn is_always_unlocked(name: &str, options: &Options) -> bool {
    let tables = options.heap.groups().into_iter().filter(|table| table.title() != "g1");
    let heap = tables.flat_map(OptionGroup::rows);
    let jit = options.jit.rows().into_iter().filter(|row| row.purpose != Purpose::Product);
    heap.chain(jit).any(|row| row.name == name)
}

/// Options that are no rows of a table: their setting has other options too, or depends on more than the value.
fn written_flag(
    flag: &Flag<'_>,
    options: &mut Options,
    initial_bytes: &mut Option<usize>,
) -> Result<bool, BadOption> {
    let (heap, jit) = (&mut options.heap, &mut options.jit);
    match (flag.name, flag.value) {
        ("MaxHeapSize", Setting::Text(_)) => {
            heap.max_bytes = flag.heap_bytes("maximum heap size")?
        }
        ("InitialHeapSize", Setting::Text(_)) => {
            *initial_bytes = Some(flag.heap_bytes("initial heap size")?);
        }
        // As in `java`, 0 is the VM's choice.
        ("G1HeapRegionSize" | "ShenandoahRegionSize", Setting::Text("0")) => {
            heap.region_bytes = None;
        }
        ("G1HeapRegionSize" | "ShenandoahRegionSize", value) => {
            heap.set("RegionSize", value).map_err(|bad| flag.bad(bad))?;
        }
        ("JavaHome", Setting::Text(path)) => options.java_home = path.into(),
        ("ObjectAlignmentInBytes", Setting::Text(_)) => check_alignment(flag.bytes()?)?,
        ("ThreadStackSize", Setting::Text(_)) => {
            let bytes = flag.bytes()?.saturating_mul(1 << 10);
            check_stack_bytes(bytes)?;
            if bytes > 0 {
                options.stack_bytes = bytes;
            }
        }
        ("TieredStopAtLevel", Setting::Text("0")) => jit.is_on = false,
        ("CompileOnly", Setting::Text(text)) => {
            jit.only.extend(text.split(',').filter_map(MethodPattern::parse));
        }
        ("CompileCommand", Setting::Text(text)) => jit.command(text),
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

/// The collector that runs instead of HotSpot collectors that this VM does not have.
fn stand_in() -> Result<CollectorKind, BadOption> {
    let collecting = CollectorKind::ALL.iter().copied().find(|kind| kind.collects());
    Ok(collecting.unwrap_or(CollectorKind::ALL[0]))
}

/// Refuses the alignments that HotSpot refuses, with its words, and all others but the one that this VM has.
fn check_alignment(bytes: usize) -> Result<(), BadOption> {
    let name = "ObjectAlignmentInBytes";
    Err(BadOption(match bytes {
        8 => return Ok(()),
        ..8 | 257.. => format!("intx {name}={bytes} is outside the allowed range [ 8 ... 256 ]"),
        _ if !bytes.is_power_of_two() => format!("{name} ({bytes}) must be power of 2"),
        _ => format!("{name}={bytes} is not supported: objects are aligned to 8 bytes"),
    }))
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
    pub(super) fn parse(text: &'a str) -> Flag<'a> {
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
        let rows = options.groups().into_iter().flat_map(OptionGroup::rows);
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

    /// Sets it if it is a row of a table, and if it is a preset what that stands for.
    fn set(&self, options: &mut Options) -> Result<bool, BadOption> {
        let is_row = options.set_any(self.name, self.value).map_err(|bad| self.bad(bad))?;
        if let (Setting::On, Some(preset)) = (self.value, presets::find(self.name)) {
            for (text, _) in preset.settings {
                let flag = Flag::parse(text);
                let is_row = options.set_any(flag.name, flag.value).map_err(|bad| flag.bad(bad))?;
                assert!(is_row, "{} sets {text}, which is no row of a table", preset.name);
            }
        }
        Ok(is_row)
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

/// How much of an unknown option's name must be that of a known one.
const LIKENESS_LEAST: f64 = 0.7;
const STACK_BYTES_MIN: usize = 136 << 10;
const STACK_BYTES_MAX: usize = 1 << 30;
