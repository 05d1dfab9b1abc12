//! `-XX` options.

use super::ergonomics::HeapSizes;
use super::flags::{self, Kind, Level, Treatment, Value};
use super::{BadOption, Options, presets};
use crate::options::pattern::MethodPattern;
use crate::options::recorder::RecorderOption;
use base::options::{BadSetting, Count, OptionGroup, Purpose, Setting, Unit};
use base::units::parse_bytes;
use gc::options::CollectorKind;

/// Which kinds of option may be used.
#[derive(Default)]
pub struct Unlocked {
    pub ignore_unrecognized: bool,
    pub diagnostic: bool,
    pub experimental: bool,
    /// Switches of collectors as they stand, in order.
    pub collectors: Vec<(String, bool)>,
}

/// The options that unlock others. They are of the levels that they unlock, and need no unlocking.
const DIAGNOSTIC: &str = "UnlockDiagnosticVMOptions";
const EXPERIMENTAL: &str = "UnlockExperimentalVMOptions";

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
        sizes: &mut HeapSizes,
    ) -> Result<(), BadOption> {
        // So that scripts can keep options that they do not want at present.
        if text.starts_with('#') {
            return Ok(());
        }
        let flag = Flag::parse(text);
        options.flags.push((flag.name.into(), flag.shown_value().into()));
        match (flag.name, flag.value) {
            (DIAGNOSTIC, Setting::On) => self.diagnostic = true,
            (DIAGNOSTIC, Setting::Off) => self.diagnostic = false,
            (EXPERIMENTAL, Setting::On) => self.experimental = true,
            (EXPERIMENTAL, Setting::Off) => self.experimental = false,
            _ => (),
        }
        let known = flags::find(flag.name);
        if let Some(known) = known
            && !self.ignore_unrecognized
            && ![DIAGNOSTIC, EXPERIMENTAL].contains(&flag.name)
        {
            self.check_level(&flag, known.level(), options)?;
        }
        if self.collector_flag(&flag, options)?
            || written_flag(&flag, options, sizes)?
            || flag.set(options)?
        {
            return Ok(());
        }
        match known {
            Some(known) => self.without_effect(&flag, known, options),
            None if self.ignore_unrecognized => Ok(()),
            None => Err(flag.unrecognized(options)),
        }
    }

    /// An option of HotSpot that no other function reads: what the list of its options says.
    fn without_effect(
        &self,
        flag: &Flag<'_>,
        known: &flags::Flag,
        options: &mut Options,
    ) -> Result<(), BadOption> {
        let is_default = flag.is_default(known);
        let name = flag.name;
        // `-XX:StartFlightRecording` needs no value, for example.
        if !matches!(known.treatment, Treatment::Refused { .. }) {
            flag.check_form(known)?;
        }
        match known.treatment {
            // Read before: from the list of given options.
            Treatment::Works => (),
            _ if self.ignore_unrecognized => (),
            Treatment::Ignored { is_as_is: true, .. } | Treatment::Refused { .. } if is_default => {
            }
            Treatment::Ignored { reason, .. } => {
                options.warn(format!("Ignoring option {name}: {reason}"));
            }
            Treatment::Refused { reason } => {
                let message = format!("Error: VM option '{name}' is not supported: {reason}.");
                return Err(BadOption(message));
            }
        }
        Ok(())
    }

    /// `UseMakoGC` and so on: chooses the collector. For a collector of HotSpot that this VM does not have, the one
    /// that is most like it, with a warning.
    fn collector_flag(
        &mut self,
        flag: &Flag<'_>,
        options: &mut Options,
    ) -> Result<bool, BadOption> {
        let is_on = match flag.value {
            Setting::On => true,
            Setting::Off => false,
            _ => return Ok(false),
        };
        let Some(title) = flag.name.strip_prefix("Use").and_then(|rest| rest.strip_suffix("GC"))
        else {
            return Ok(false);
        };
        let (own, stand_in) = (CollectorKind::of_switch(title), CollectorKind::instead_of(title));
        let Some(collector) = own.or(stand_in) else {
            return Ok(false);
        };
        self.collectors.retain(|(name, _)| name != flag.name);
        self.collectors.push((flag.name.into(), is_on));
        if is_on {
            options.heap.collector = collector;
        }
        if is_on && own.is_none() && !self.ignore_unrecognized {
            let instead = collector.name();
            let name = flag.name;
            options
                .warn(format!("Option {name}: there is no such collector; {instead} runs instead"));
        }
        Ok(true)
    }

    /// Takes the default collector if no option names one. Refuses switches that leave several collectors, or none.
    pub fn choose_collector(
        &self,
        options: &mut Options,
        default: CollectorKind,
    ) -> Result<(), BadOption> {
        let is_default =
            |name: &str| CollectorKind::of_switch(&name[3..name.len() - 2]) == Some(default);
        let on = self.collectors.iter().filter(|(_, is_on)| *is_on).count();
        let is_default_off = self.collectors.iter().any(|(name, on)| !on && is_default(name));
        let is_named = options.given("Collector").is_some();
        let message = match on {
            2.. => "Multiple garbage collectors selected",
            0 if is_default_off && !is_named => {
                "Garbage collector not selected (default collector explicitly disabled)"
            }
            0 if !is_named => {
                options.heap.collector = default;
                return Ok(());
            }
            _ => return Ok(()),
        };
        Err(BadOption(format!("Error occurred during initialization of VM\n{message}")))
    }

    fn check_level(
        &self,
        flag: &Flag<'_>,
        level: Level,
        options: &Options,
    ) -> Result<(), BadOption> {
        let (word, unlock, is_unlocked) = match level {
            Level::Product => return Ok(()),
            Level::Diagnostic => ("diagnostic", DIAGNOSTIC, self.diagnostic),
            Level::Experimental => ("experimental", EXPERIMENTAL, self.experimental),
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
    sizes: &mut HeapSizes,
) -> Result<bool, BadOption> {
    let (heap, jit) = (&mut options.heap, &mut options.jit);
    match (flag.name, flag.value) {
        ("MaxHeapSize", Setting::Text(_)) => {
            sizes.max_bytes = Some(flag.heap_bytes("maximum heap size")?);
        }
        ("InitialHeapSize", Setting::Text(_)) => {
            sizes.initial_bytes = Some(flag.heap_bytes("initial heap size")?);
        }
        ("MinHeapSize", Setting::Text(_)) => {
            sizes.min_bytes = Some(flag.heap_bytes("minimum heap size")?);
            // It is checked, and nothing else.
            return Ok(false);
        }
        ("NewSize", Setting::Text(_)) => sizes.young.min_bytes = Some(flag.bytes()?),
        ("MaxNewSize", Setting::Text(_)) => sizes.young.max_bytes = Some(flag.bytes()?),
        ("NewRatio", Setting::Text(_)) => sizes.young.old_to_young = Some(flag.bytes()?),
        ("VerifyBeforeGC" | "VerifyAfterGC" | "ShenandoahVerify", Setting::On | Setting::Off) => {
            heap.set("VerifyHeap", flag.value).map_err(|bad| flag.bad(bad))?;
        }
        // As in `java`, 0 is the VM's choice.
        ("G1HeapRegionSize" | "ShenandoahRegionSize", Setting::Text("0")) => {
            heap.region_bytes = None;
        }
        // It need not be a power of two, as in `java`.
        ("G1HeapRegionSize", Setting::Text(_)) => {
            let bytes = flag.bytes()?.max(G1_REGION_BYTES_MIN).checked_next_power_of_two();
            let bytes = bytes.ok_or_else(|| flag.bad(improper()))?.to_string();
            heap.set("RegionSize", Setting::Text(&bytes)).map_err(|bad| flag.bad(bad))?;
        }
        ("G1HeapRegionSize" | "ShenandoahRegionSize", value) => {
            heap.set("RegionSize", value).map_err(|bad| flag.bad(bad))?;
        }
        // Old forms of the percentages.
        ("MaxRAMFraction", value) => options.max_ram_percentage = flag.as_percentage(value)?,
        ("MinRAMFraction", value) => options.min_ram_percentage = flag.as_percentage(value)?,
        ("InitialRAMFraction", value) => {
            options.initial_ram_percentage = Some(flag.as_percentage(value)?);
        }
        ("NativeMemoryTracking", Setting::Text("off" | "summary")) => (),
        ("NativeMemoryTracking", Setting::Text("detail")) => {
            options.warn("NativeMemoryTracking=detail: there is only a summary".into());
        }
        ("NativeMemoryTracking", _) => {
            let message = "Syntax error, expecting -XX:NativeMemoryTracking=[off|summary|detail]";
            return Err(BadOption(message.into()));
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
        ("CompileOnly", Setting::Text(text)) => {
            jit.only.extend(text.split(',').filter_map(MethodPattern::parse));
        }
        ("CompileCommand", Setting::Text(text)) => compile_command(options, text)?,
        ("CompileCommandFile", Setting::Text(path)) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| BadOption(format!("CompileCommandFile {path}: {error}")))?;
            let lines = text.lines().map(str::trim);
            for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
                compile_command(options, line)?;
            }
        }
        ("StartFlightRecording", Setting::Missing) => options.recordings.push(String::new()),
        ("StartFlightRecording", Setting::Text(text)) => options.recordings.push(text.into()),
        ("FlightRecorderOptions", Setting::Text(text)) => {
            options.recorder_options.push(RecorderOption::list(text).map_err(BadOption)?);
        }
        ("Collector", Setting::Text(name)) => {
            heap.collector = name.parse().map_err(BadOption)?;
        }
        _ => return Ok(false),
    }
    Ok(true)
}

fn compile_command(options: &mut Options, text: &str) -> Result<(), BadOption> {
    if !options.jit.command(text).map_err(BadOption)? {
        options.warn(format!(
            "Ignoring CompileCommand {text}: this VM's compiler has no such command"
        ));
    }
    Ok(())
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

    /// Whether the value is one that the option may have.
    fn check_form(&self, known: &flags::Flag) -> Result<(), BadOption> {
        let is_switch = matches!(self.value, Setting::On | Setting::Off);
        let bad = match (known.value_kind(), self.value) {
            (Kind::Switch, Setting::Text(_) | Setting::Missing) => {
                BadSetting::Form { is_switch: true }
            }
            (Kind::Number | Kind::Fraction | Kind::Text, _) if is_switch => {
                BadSetting::Form { is_switch: false }
            }
            (_, Setting::Missing) => improper(),
            (Kind::Number | Kind::Fraction, Setting::Text(_)) => match self.number(known) {
                None => improper(),
                Some(number) if known.allows(number) => return Ok(()),
                Some(_) => return Err(self.outside(known)),
            },
            _ => return Ok(()),
        };
        Err(self.bad(bad))
    }

    fn outside(&self, known: &flags::Flag) -> BadOption {
        let (least, most) = known.range.unwrap_or_default();
        let (text, kind) = (self.text, known.type_name);
        BadOption(format!(
            "{kind} {text} is outside the allowed range [ {least} ... {most} ]\n\
             Improperly specified VM option '{text}'"
        ))
    }

    fn number(&self, known: &flags::Flag) -> Option<Value> {
        let text = self.shown_value();
        match known.value_kind() {
            Kind::Fraction => text.parse().ok().map(Value::Fraction),
            _ => whole(text).map(Value::Whole),
        }
    }

    /// Whether the value is the option's default.
    fn is_default(&self, known: &flags::Flag) -> bool {
        let default = Flag { value: Setting::Text(known.default), ..*self };
        match known.value_kind() {
            _ if self.value == Setting::Missing => false,
            Kind::Switch | Kind::Text => self.shown_value() == known.default,
            Kind::Number | Kind::Fraction => self.number(known) == default.number(known),
        }
    }

    /// The message for a setting of this option that is refused. HotSpot's, if it refuses the number, too: others than
    /// product options it may refuse for another reason.
    fn bad(&self, bad: BadSetting) -> BadOption {
        let is_number = |known: &&flags::Flag| {
            known.level() == Level::Product && known.value_kind() == Kind::Number
        };
        let known = flags::find(self.name).filter(is_number);
        if let (BadSetting::Outside(_), Some(known)) = (&bad, known)
            && self.number(known).is_some_and(|number| !known.allows(number))
        {
            return self.outside(known);
        }
        BadOption(bad.message(self.name, self.text))
    }

    /// With the option that may be meant, as `java` has it.
    fn unrecognized(&self, options: &Options) -> BadOption {
        let text = self.text.strip_prefix(['+', '-']).unwrap_or(self.text);
        let rows = options.groups().into_iter().flat_map(OptionGroup::rows);
        let own = rows.map(|row| (row.name, row.form.is_empty()));
        let hotspots = flags::all().iter();
        let hotspots = hotspots.map(|flag| (flag.name, flag.value_kind() == Kind::Switch));
        let known = hotspots.chain(own);
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

    /// The percentage that is one part of this number of parts.
    fn as_percentage(&self, value: Setting<'_>) -> Result<f64, BadOption> {
        let parts: u64 = Count::read(value, Some(1..=u64::MAX)).map_err(|bad| self.bad(bad))?;
        Ok(100.0 / parts as f64)
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

/// A whole number: digits, with a sign, a hexadecimal prefix or a unit.
fn whole(text: &str) -> Option<i128> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let number = match digits.strip_prefix("0x") {
        Some(hex) => i128::from(u64::from_str_radix(hex, 16).ok()?),
        None => parse_bytes(digits)? as i128,
    };
    Some(if digits.len() < text.len() { -number } else { number })
}

/// How much of an unknown option's name must be that of a known one.
const LIKENESS_LEAST: f64 = 0.7;
/// As HotSpot's.
const G1_REGION_BYTES_MIN: usize = 1 << 20;
const STACK_BYTES_MIN: usize = 136 << 10;
const STACK_BYTES_MAX: usize = 1 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    /// An argument that asks for something else than the default.
    fn other(flag: &flags::Flag) -> String {
        let name = flag.name;
        match flag.value_kind() {
            Kind::Switch => format!("{}{name}", if flag.default == "true" { "-" } else { "+" }),
            Kind::Text => format!("{name}=some"),
            // HotSpot refuses less, too; its range does not say so.
            Kind::Number if name == "MinHeapSize" => format!("{name}=1m"),
            Kind::Number if name == "ContendedPaddingWidth" => format!("{name}=64"),
            Kind::Fraction => {
                let default: f64 = flag.default.parse().expect(name);
                let mut values = [default + 1.0, default / 2.0, default + 0.25].into_iter();
                let is_other = |value: &f64| *value != default;
                let value =
                    values.find(|value| is_other(value) && flag.allows(Value::Fraction(*value)));
                format!("{name}={}", value.expect(name))
            }
            Kind::Number => {
                let default = whole(flag.default).expect(name);
                let least = flag.range.and_then(|(least, _)| whole(least)).unwrap_or(0);
                let mut values = [default + 1, default - 1, least].into_iter();
                let fits = |value: &i128| u64::try_from(value.unsigned_abs()).is_ok();
                let is_other = |value: &i128| *value != default && fits(value);
                let value =
                    values.find(|value| is_other(value) && flag.allows(Value::Whole(*value)));
                format!("{name}={}", value.expect(name))
            }
        }
    }

    fn parse(argument: &str, more: &[&str]) -> Result<Options, BadOption> {
        let unlock = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions"];
        Options::parse(&[&unlock, more, &[&format!("-XX:{argument}")]].concat(), false)
    }

    /// Read from the list of given options, or before all others.
    const READ_ELSEWHERE: &[&str] = &[
        "DisplayVMOutput",
        "FlightRecorder",
        "IgnoreUnrecognizedVMOptions",
        "LogFile",
        "LogVMOutput",
        "PrintCommandLineFlags",
        "PrintFlagsFinal",
        "PrintFlagsInitial",
        "PrintFlagsRanges",
        "PrintGC",
        "PrintGCDetails",
        "PrintNMTStatistics",
        "PrintVMOptions",
        "UnlockDiagnosticVMOptions",
        "UnlockExperimentalVMOptions",
    ];

    #[test]
    fn no_option_of_hotspot_is_taken_in_silence() {
        for flag in flags::all() {
            let (argument, name) = (other(flag), flag.name);
            let is_row = |options: &Options| {
                let mut rows = options.groups().into_iter().flat_map(OptionGroup::rows);
                rows.any(|row| row.name == name)
            };
            let is_row = is_row(&Options::default());
            match flag.treatment {
                Treatment::Works => {
                    let (mut options, given) = (Options::default(), Flag::parse(&argument));
                    let written = written_flag(&given, &mut options, &mut HeapSizes::default());
                    let chosen = Unlocked::default().collector_flag(&given, &mut options);
                    let is_read = written != Ok(false) || chosen != Ok(false);
                    assert!(is_row || is_read || READ_ELSEWHERE.contains(&name), "{name}");
                }
                Treatment::Ignored { reason, .. } => {
                    assert!(!is_row, "{name} is in a table, but listed as ignored");
                    let warnings = parse(&argument, &[]).expect(name).warnings;
                    assert_eq!(warnings, [format!("Ignoring option {name}: {reason}")]);
                }
                Treatment::Refused { reason } => {
                    assert!(!is_row, "{name} is in a table, but listed as refused");
                    let refused = parse(&argument, &[]).expect_err(name).0;
                    let message = format!("Error: VM option '{name}' is not supported: {reason}.");
                    assert_eq!(refused, message);
                }
            }
            if flag.treatment != Treatment::Works {
                let lenient = parse(&argument, &["-XX:+IgnoreUnrecognizedVMOptions"]);
                assert!(lenient.expect(name).warnings.is_empty(), "{name}");
            }
        }
    }
}
