//! Options with the values that they have, for `-XX:+PrintFlagsFinal`, `-XX:+PrintCommandLineFlags` and
//! `HotSpotDiagnosticMXBean`: those of the tables, HotSpot's others, and all that were given.

use super::Options;
use super::flags::{self, Kind, Level};
use base::options::OptionGroup;
use gc::object::geometry::Geometry;
use gc::options::{CollectorKind, HeapOptions, parse_bytes};
use std::fmt::Write;

/// An option as it is shown.
pub struct Shown {
    pub name: String,
    pub value: Value,
    pub origin: Origin,
    /// `product`, `ablation`, `C2 diagnostic`, ...
    pub kind: String,
    /// HotSpot's type, or that of the value.
    type_name: &'static str,
}

/// Why an option has its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    Default,
    CommandLine,
    /// The VM has chosen it.
    Ergonomic,
    /// The VM has chosen it because of what the command line gave.
    Adjusted,
}

pub enum Value {
    Switch(bool),
    Number(i64),
    /// Beyond the signed numbers.
    Large(u64),
    Fraction(f64),
    Text(String),
}

/// All options with their values, for beans and `-XX:+PrintFlagsFinal`.
pub fn shown(options: &Options) -> Vec<Shown> {
    let origin = |name: &str| {
        let short = SHORT.iter().filter(|(long, _)| *long == name);
        let mut short = short.flat_map(|(_, shorts)| *shorts);
        let is_short = short.any(|short| options.arguments.iter().any(|a| a.starts_with(short)));
        match is_short || options.given(name).is_some() {
            true => Origin::CommandLine,
            false => Origin::Default,
        }
    };
    let product = |name: &str, value: Value| {
        let known = flags::find(name);
        Shown {
            name: name.into(),
            type_name: known.map_or(value.type_name(), |known| known.type_name),
            value,
            origin: origin(name),
            kind: known.map_or("product", |known| known.kind).into(),
        }
    };
    let chosen = |name: &str, value: Value| {
        let shown = product(name, value);
        let origin = if shown.origin == Origin::Default { Origin::Ergonomic } else { shown.origin };
        Shown { origin, ..shown }
    };
    let number = |value: usize| Value::Number(value as i64);
    let heap = &options.heap;
    let mut all = vec![
        chosen("MaxHeapSize", number(heap.max_bytes)),
        chosen("InitialHeapSize", number(heap.initial_bytes)),
        product("ThreadStackSize", number(options.stack_bytes >> 10)),
        product("Collector", Value::Text(heap.collector.name().into())),
    ];
    if let Some(bytes) = g1_region_bytes(heap) {
        let given =
            options.given("G1HeapRegionSize").map_or(0, |text| parse_bytes(text).unwrap_or(0));
        let shown = chosen("G1HeapRegionSize", number(bytes));
        let is_adjusted = shown.origin == Origin::CommandLine && given != bytes;
        let origin = if is_adjusted { Origin::Adjusted } else { shown.origin };
        all.push(Shown { origin, ..shown });
    }
    let loops = LoopPolls::of(options);
    all.extend([
        product("UseCountedLoopSafepoints", Value::Switch(loops.are_on)),
        product("LoopStripMiningIter", number(loops.rounds)),
        product("LoopStripMiningIterShortLoop", number(loops.rounds_of_short)),
        // There is one cache for all code.
        product("SegmentedCodeCache", Value::Switch(false)),
    ]);
    for title in SWITCHED {
        let name = format!("Use{title}GC");
        let runs = CollectorKind::of_switch(title) == Some(heap.collector);
        all.push(if runs {
            chosen(&name, Value::Switch(true))
        } else {
            product(&name, Value::Switch(false))
        });
    }
    for row in options.groups().into_iter().flat_map(OptionGroup::rows) {
        let value = match row.form {
            _ if row.value == "auto" => {
                effective(options, row.name).unwrap_or_else(|| Value::Text(row.value.clone()))
            }
            "" => Value::Switch(row.value == "true"),
            "<decimal>" => {
                row.value.parse().map_or_else(|_| Value::Text(row.value.clone()), Value::Fraction)
            }
            _ => number_in(&row.value).unwrap_or_else(|| Value::Text(row.value.clone())),
        };
        let is_chosen = row.value == "auto" && matches!(value, Value::Switch(_));
        let shown = match is_chosen {
            true => chosen(row.name, value),
            false => product(row.name, value),
        };
        let is_own = flags::find(row.name).is_none();
        all.push(Shown {
            kind: if is_own { row.purpose.to_string() } else { shown.kind },
            ..shown
        });
    }
    let mut names: std::collections::HashSet<String> =
        all.iter().map(|shown| shown.name.clone()).collect();
    for (name, text) in options.flags.iter().rev() {
        if names.insert(name.clone()) {
            all.push(product(name, value(name, text)));
        }
    }
    for known in flags::all().iter().filter(|known| !names.contains(known.name)) {
        all.push(product(known.name, value(known.name, known.default)));
    }
    all
}

/// Bytes of G1's regions; `None` if another collector runs, which has them by other options.
fn g1_region_bytes(heap: &HeapOptions) -> Option<usize> {
    let bytes = || Geometry::choose(heap.max_bytes, heap.region_bytes).ok();
    (heap.collector == CollectorKind::G1).then(bytes).flatten().map(|it| it.region_bytes())
}

/// The options about polls in counted loops, which follow each other as in HotSpot. Here all loops poll.
struct LoopPolls {
    are_on: bool,
    /// Rounds between two polls.
    rounds: usize,
    rounds_of_short: usize,
}

impl LoopPolls {
    fn of(options: &Options) -> LoopPolls {
        let number = |name| options.given(name).and_then(|text: &str| text.parse::<usize>().ok());
        let switch = options.given("UseCountedLoopSafepoints");
        let is_concurrent =
            !matches!(options.heap.collector, CollectorKind::Serial | CollectorKind::Epsilon);
        let are_on = switch.map_or(is_concurrent, |text| text == "true");
        let usual = if switch.is_none() && is_concurrent { LOOP_ROUNDS } else { 0 };
        let rounds = match number("LoopStripMiningIter").unwrap_or(usual) {
            _ if !are_on => 0,
            rounds => rounds.max(1),
        };
        let rounds_of_short = number("LoopStripMiningIterShortLoop").unwrap_or(rounds / 10);
        LoopPolls { are_on, rounds, rounds_of_short }
    }
}

/// HotSpot's default of `LoopStripMiningIter` for collectors that work beside the program.
const LOOP_ROUNDS: usize = 1000;

/// What an option of HotSpot that is `auto` comes to: programs ask for it, and expect numbers and switches.
fn effective(options: &Options, name: &str) -> Option<Value> {
    match name {
        "UseCompressedOops" => Some(Value::Switch(options.heap.fits_narrow())),
        "MaxRAM" => Some(Value::Large(options.resources.memory_bytes())),
        // HotSpot's defaults for sizes that follow from others.
        "InitialRAMPercentage" => Some(Value::Fraction(1.5625)),
        "MaxDirectMemorySize" => Some(Value::Number(0)),
        _ => None,
    }
}

/// The names in switches of collectors: those of this VM, and those of HotSpot that it does not have.
const SWITCHED: [&str; 10] = [
    "Serial",
    "G1",
    "Shenandoah",
    "Epsilon",
    "Semeru",
    "Mako",
    "MemLinerG1",
    "MemLinerShenandoah",
    "Parallel",
    "Z",
];

/// Options that have short forms.
const SHORT: &[(&str, &[&str])] = &[
    ("MaxHeapSize", &["-Xmx"]),
    ("InitialHeapSize", &["-Xms"]),
    ("ThreadStackSize", &["-Xss"]),
    ("NewSize", &["-Xmn"]),
    ("MaxNewSize", &["-Xmn"]),
    ("ReduceSignalUsage", &["-Xrs"]),
];

fn value(name: &str, text: &str) -> Value {
    let number = |text: &str| {
        number_in(text).unwrap_or(Value::Number(parse_bytes(text).unwrap_or(0) as i64))
    };
    match flags::find(name).map(flags::Flag::value_kind) {
        Some(Kind::Switch) => Value::Switch(text == "true"),
        Some(Kind::Number) => number(text),
        Some(Kind::Fraction) => Value::Fraction(text.parse().unwrap_or(0.0)),
        Some(Kind::Text) => Value::Text(text.into()),
        None if text == "true" || text == "false" => Value::Switch(text == "true"),
        None => Value::Text(text.into()),
    }
}

fn number_in(text: &str) -> Option<Value> {
    let large = || text.parse().ok().map(Value::Large);
    text.parse().ok().map(Value::Number).or_else(large)
}

/// The text about the options that they ask to be printed when the VM starts, in the form of `java`.
pub fn asked_for(options: &Options) -> String {
    let is_on = |name: &str| options.given(name) == Some("true");
    let mut text = String::new();
    if is_on("PrintVMOptions") {
        for (name, given) in &options.flags {
            let argument = as_argument(name, &value(name, given));
            let _ = writeln!(text, "VM option '{}'", argument.trim_start_matches("-XX:"));
        }
    }
    if is_on("PrintCommandLineFlags") {
        let mut all = shown(options);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        // The launcher names the JDK by itself.
        let is_set = |shown: &&Shown| shown.origin != Origin::Default && shown.name != "JavaHome";
        let given = all.iter().filter(is_set);
        let given = given.map(Shown::as_argument);
        text += &given.collect::<Vec<_>>().join(" ");
        text += "\n";
    }
    let is_unlocked = |shown: &&Shown| match flags::find(&shown.name).map(flags::Flag::level) {
        Some(Level::Diagnostic) => is_on("UnlockDiagnosticVMOptions"),
        Some(Level::Experimental) => is_on("UnlockExperimentalVMOptions"),
        Some(Level::Product) | None => true,
    };
    let list = |options: &Options, title: &str, write: fn(&Shown, &mut String)| {
        let mut all = shown(options);
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let mut text = format!("[{title}]\n");
        all.iter().filter(is_unlocked).for_each(|shown| write(shown, &mut text));
        text
    };
    if is_on("PrintFlagsInitial") {
        text += &list(&Options::default(), "Global flags", Shown::write_line);
    }
    if is_on("PrintFlagsFinal") {
        text += &list(options, "Global flags", Shown::write_line);
    }
    if is_on("PrintFlagsRanges") {
        text += &list(options, "Global flags ranges", Shown::write_range);
    }
    text
}

fn as_argument(name: &str, value: &Value) -> String {
    match value {
        Value::Switch(true) => format!("-XX:+{name}"),
        Value::Switch(false) => format!("-XX:-{name}"),
        value => format!("-XX:{name}={}", value.text()),
    }
}

impl Value {
    fn type_name(&self) -> &'static str {
        match self {
            Value::Switch(_) => "bool",
            Value::Number(_) => "intx",
            Value::Large(_) => "uintx",
            Value::Fraction(_) => "double",
            Value::Text(_) => "ccstr",
        }
    }

    fn text(&self) -> String {
        match self {
            Value::Switch(on) => on.to_string(),
            Value::Number(number) => number.to_string(),
            Value::Large(number) => number.to_string(),
            Value::Fraction(number) => format!("{number:.6}"),
            Value::Text(text) => text.clone(),
        }
    }
}

impl Shown {
    /// As on a command line.
    pub fn as_argument(&self) -> String {
        as_argument(&self.name, &self.value)
    }

    /// HotSpot's name of the type.
    pub fn type_name(&self) -> &'static str {
        self.type_name
    }

    /// As `-XX:+PrintFlagsFinal` prints it.
    pub fn write_line(&self, out: &mut String) {
        let (name, value, kind) = (&self.name, self.value.text(), format!("{{{}}}", self.kind));
        let room = VALUE_AND_KIND.saturating_sub(kind.len()).max(VALUE).max(value.len() + 1);
        let (type_name, origin) = (self.type_name, self.origin.text());
        let _ = writeln!(out, "{type_name:>9} {name:<40} = {value:<room$}{kind} {{{origin}}}");
    }

    /// Nothing for options that have no range.
    fn write_range(&self, out: &mut String) {
        let Some((least, most)) = flags::find(&self.name).and_then(|known| known.range) else {
            return;
        };
        let (name, kind) = (&self.name, format!("{{{}}}", self.kind));
        let (type_name, origin) = (self.type_name, self.origin.text());
        let _ = writeln!(
            out,
            "{type_name:>9} {name:<50} [ {least:<25} ... {most:>25} ] {kind:>36} {{{origin}}}"
        );
    }
}

impl Origin {
    fn text(self) -> &'static str {
        match self {
            Origin::Default => "default",
            Origin::CommandLine => "command line",
            Origin::Ergonomic => "ergonomic",
            Origin::Adjusted => "command line, ergonomic",
        }
    }
}

/// Columns of a line from the value to the end of the kind, as in HotSpot.
const VALUE_AND_KIND: usize = 51;
/// Columns of a value before a long kind, and a space.
const VALUE: usize = 31;

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(arguments: &[&str]) -> String {
        asked_for(&Options::parse(arguments, false).expect("they are sound"))
    }

    #[test]
    fn options_are_printed_if_they_are_asked_for() {
        assert_eq!(printed(&["-XX:-PrintFlagsFinal"]), "");
        let server = "-XX:+AlwaysActAsServerClassMachine";
        let given = ["-XX:+PrintCommandLineFlags", "-XX:MakoAwayTablets=7", "-XX:-UseHIT"];
        let text = printed(&[&given[..], &[server]].concat());
        assert!(text.ends_with(" -XX:-UseHIT\n") && text.contains(" -XX:+UseG1GC "), "{text}");
        assert!(text.contains(" -XX:MakoAwayTablets=7 ") && text.contains(" -XX:MaxHeapSize="));
        let text = printed(&["-XX:+PrintVMOptions", "-XX:MaxGCPauseMillis=7"]);
        assert_eq!(text, "VM option '+PrintVMOptions'\nVM option 'MaxGCPauseMillis=7'\n");
    }

    /// The value and the origin, as HotSpot 17 shows them.
    #[test]
    fn options_that_follow_others_are_shown_as_they_came_out() {
        let line = |name: &str, given: &[&str]| {
            let text = printed(&[&["-XX:+PrintFlagsFinal"], given].concat());
            let mut lines = text.lines();
            let line = lines.find(|line| line.split_whitespace().nth(1) == Some(name));
            let line = line.unwrap_or_else(|| panic!("{name} in {text}"));
            let words: Vec<&str> = line.split_whitespace().collect();
            let origin = line.rsplit('{').next().unwrap_or("").trim_end_matches('}');
            format!("{} {origin}", words[3])
        };
        let region = |given: &str| {
            line(
                "G1HeapRegionSize",
                &["-XX:+UseG1GC", "-Xmx4g", &format!("-XX:G1HeapRegionSize={given}")],
            )
        };
        assert_eq!(region("1"), "1048576 command line, ergonomic");
        assert_eq!(region("3m"), "4194304 command line, ergonomic");
        assert_eq!(region("4m"), "4194304 command line");
        assert_eq!(line("G1HeapRegionSize", &["-XX:+UseSerialGC"]), "0 default");
        let serial = ["-XX:+UseSerialGC", "-XX:G1HeapRegionSize=3m"];
        assert_eq!(line("G1HeapRegionSize", &serial), "3145728 command line");

        let rounds = |given: &[&str]| line("LoopStripMiningIter", given);
        let (g1, off) = ("-XX:+UseG1GC", "-XX:-UseCountedLoopSafepoints");
        assert_eq!(rounds(&[g1]), "1000 default");
        assert_eq!(line("UseCountedLoopSafepoints", &[g1]), "true default");
        assert_eq!(line("LoopStripMiningIterShortLoop", &[g1]), "100 default");
        assert_eq!(rounds(&[g1, off]), "0 default");
        assert_eq!(rounds(&[g1, off, "-XX:LoopStripMiningIter=5"]), "0 command line");
        assert_eq!(rounds(&[g1, "-XX:LoopStripMiningIter=0"]), "1 command line");
        assert_eq!(rounds(&["-XX:+UseShenandoahGC", "-XX:+UseCountedLoopSafepoints"]), "1 default");
        assert_eq!(rounds(&["-XX:+UseSerialGC"]), "0 default");
        assert_eq!(line("UseCountedLoopSafepoints", &["-XX:+UseSerialGC"]), "false default");
        assert_eq!(line("SegmentedCodeCache", &["-XX:+SegmentedCodeCache"]), "false command line");
    }

    #[test]
    fn all_rows_of_the_tables_are_listed_once() {
        let server = "-XX:+AlwaysActAsServerClassMachine";
        let given = ["-XX:+PrintFlagsFinal", "-XX:MakoAwayTablets=7", "-Xmx64m", server];
        let text = printed(&given);
        let lines = || text.lines().skip(1);
        let find = |wanted: &str| {
            let mut found = lines().filter(|line| line.split_whitespace().nth(1) == Some(wanted));
            let line = found.next().unwrap_or_else(|| panic!("{wanted} in {text}"));
            assert!(found.next().is_none(), "{wanted} twice");
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for row in Options::default().groups().into_iter().flat_map(OptionGroup::rows) {
            let level = flags::find(row.name).map(flags::Flag::level);
            if matches!(level, Some(Level::Product) | None) {
                find(row.name);
            }
        }
        // Programs that measure objects ask for this one.
        let narrow = "bool UseCompressedOops = true {product lp64_product} {ergonomic}";
        assert_eq!(find("UseCompressedOops"), narrow);
        assert_eq!(
            find("MaxDirectMemorySize"),
            "uint64_t MaxDirectMemorySize = 0 {product} {default}"
        );
        let tablets = "intx MakoAwayTablets = 7 {product} {command line}";
        assert_eq!(find("MakoAwayTablets"), tablets);
        assert_eq!(find("MaxHeapSize"), "size_t MaxHeapSize = 67108864 {product} {command line}");
        assert_eq!(find("UseG1GC"), "bool UseG1GC = true {product} {ergonomic}");
        let small = printed(&["-XX:+PrintFlagsFinal", "-XX:+NeverActAsServerClassMachine"]);
        let serial =
            small.lines().find(|line| line.contains(" UseSerialGC ")).expect("it is listed");
        assert!(serial.contains("= true ") && serial.contains("{ergonomic}"), "{serial}");
        assert_eq!(find("UseTLAB"), "bool UseTLAB = true {product} {default}");
        assert_eq!(find("AliasLevel"), "intx AliasLevel = 3 {C2 product} {default}");
        let full = lines().find(|line| line.contains(" UseG1GC ")).expect("it is found above");
        let columns = (full.find("bool"), full.find('='), full.find("true"), full.find("{e"));
        assert_eq!(columns, (Some(5), Some(51), Some(53), Some(105)));
        assert!(!text.contains(" WhiteBoxAPI "));
        let own = CollectorKind::ALL.len();
        let ran = SWITCHED.iter().filter_map(|title| CollectorKind::of_switch(title));
        assert_eq!(ran.collect::<std::collections::HashSet<_>>().len(), own);
        assert_eq!(find("UseMakoGC"), "bool UseMakoGC = false {product} {default}");
        let unlocked = printed(&["-XX:+UnlockDiagnosticVMOptions", "-XX:+PrintFlagsFinal"]);
        assert!(unlocked.contains(" WhiteBoxAPI "));
        assert_eq!(find("UseHIT"), "bool UseHIT = true {ablation} {default}");
        assert_eq!(find("MemLinerMaxDL"), "ccstr MemLinerMaxDL = auto {paper} {default}");
    }
}
