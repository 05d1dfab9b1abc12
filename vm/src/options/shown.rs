//! Options with the values that they have, for `-XX:+PrintFlagsFinal`, `-XX:+PrintCommandLineFlags` and
//! `HotSpotDiagnosticMXBean`: those of the tables, some others, and all that were given.

use super::Options;
use super::flags::{self, Kind};
use base::options::{OptionGroup, Purpose};
use gc::options::parse_bytes;
use std::fmt::Write;

/// An option as it is shown.
pub struct Shown {
    pub name: String,
    pub value: Value,
    /// On the command line.
    pub is_given: bool,
    pub purpose: Purpose,
}

pub enum Value {
    Switch(bool),
    Number(i64),
    Fraction(f64),
    Text(String),
}

/// All options with their values, for beans and `-XX:+PrintFlagsFinal`.
pub fn shown(options: &Options) -> Vec<Shown> {
    let is_given = |name: &str| {
        let short = SHORT.iter().find(|(long, _)| *long == name);
        let is_short = |argument: &String| short.is_some_and(|(_, s)| argument.starts_with(s));
        options.flags.iter().any(|(given, _)| given == name)
            || options.arguments.iter().any(is_short)
    };
    let product = |name: &str, value| Shown {
        name: name.into(),
        value,
        is_given: is_given(name),
        purpose: Purpose::Product,
    };
    let number = |name: &str, value: usize| product(name, Value::Number(value as i64));
    let heap = &options.heap;
    let mut all = vec![
        number("MaxHeapSize", heap.max_bytes),
        number("InitialHeapSize", heap.initial_bytes),
        number("ThreadStackSize", options.stack_bytes >> 10),
        product("Collector", Value::Text(heap.collector.name().into())),
    ];
    for row in options.groups().into_iter().flat_map(OptionGroup::rows) {
        let value = match row.form {
            "" => Value::Switch(row.value == "true"),
            _ => row.value.parse().map_or_else(|_| Value::Text(row.value.clone()), Value::Number),
        };
        all.push(Shown { purpose: row.purpose, ..product(row.name, value) });
    }
    for (name, text) in &options.flags {
        if all.iter().all(|shown| shown.name != *name) {
            all.push(product(name, value(name, text)));
        }
    }
    all
}

/// Options that have a short form.
const SHORT: &[(&str, &str)] =
    &[("MaxHeapSize", "-Xmx"), ("InitialHeapSize", "-Xms"), ("ThreadStackSize", "-Xss")];

fn value(name: &str, text: &str) -> Value {
    match flags::find(name).map(|(kind, _)| kind) {
        Some(Kind::Switch) => Value::Switch(text == "true"),
        Some(Kind::Number) => Value::Number(parse_bytes(text).unwrap_or(0) as i64),
        Some(Kind::Fraction) => Value::Fraction(text.parse().unwrap_or(0.0)),
        Some(Kind::Text) => Value::Text(text.into()),
        None if text == "true" || text == "false" => Value::Switch(text == "true"),
        None => Value::Text(text.into()),
    }
}

/// The text about the options that they ask to be printed when the VM starts, in the form of `java`.
pub fn asked_for(options: &Options) -> String {
    let is_on = |wanted: &str| {
        let given = options.flags.iter().rev().find(|(name, _)| name == wanted);
        given.is_some_and(|(_, value)| value == "true")
    };
    let (given, all_of_them) = (is_on("PrintCommandLineFlags"), is_on("PrintFlagsFinal"));
    if !given && !all_of_them {
        return String::new();
    }
    let mut all = shown(options);
    all.sort_by(|a, b| a.name.cmp(&b.name));
    let mut text = String::new();
    if given {
        let given = all.iter().filter(|shown| shown.is_given);
        text += &given.map(Shown::as_argument).collect::<Vec<_>>().join(" ");
        text += "\n";
    }
    if all_of_them {
        text += "[Global flags]\n";
        all.iter().for_each(|shown| shown.write_line(&mut text));
    }
    text
}

impl Shown {
    fn as_argument(&self) -> String {
        let Shown { name, value, .. } = self;
        match value {
            Value::Switch(true) => format!("-XX:+{name}"),
            Value::Switch(false) => format!("-XX:-{name}"),
            Value::Number(number) => format!("-XX:{name}={number}"),
            Value::Fraction(number) => format!("-XX:{name}={number}"),
            Value::Text(text) => format!("-XX:{name}={text}"),
        }
    }

    fn write_line(&self, out: &mut String) {
        let (kind, value) = match &self.value {
            Value::Switch(on) => ("bool", on.to_string()),
            Value::Number(number) => ("uintx", number.to_string()),
            Value::Fraction(number) => ("double", number.to_string()),
            Value::Text(text) => ("ccstr", text.clone()),
        };
        let origin = if self.is_given { "command line" } else { "default" };
        let (name, purpose) = (&self.name, self.purpose);
        let _ = writeln!(out, "{kind:>9} {name:<40} = {value:<41} {{{purpose}}} {{{origin}}}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(arguments: &[&str]) -> String {
        asked_for(&Options::parse(arguments, false).expect("they are sound"))
    }

    #[test]
    fn options_are_printed_if_they_are_asked_for() {
        assert_eq!(printed(&["-XX:-PrintFlagsFinal"]), "");
        let given = ["-XX:+PrintCommandLineFlags", "-XX:MakoAwayTablets=7", "-XX:-UseHIT"];
        let line = "-XX:MakoAwayTablets=7 -XX:+PrintCommandLineFlags -XX:-UseHIT\n";
        assert_eq!(printed(&given), line);
    }

    #[test]
    fn all_rows_of_the_tables_are_listed_once() {
        let text = printed(&["-XX:+PrintFlagsFinal", "-XX:MakoAwayTablets=7", "-Xmx64m"]);
        let lines = || text.lines().skip(1);
        let find = |wanted: &str| {
            let mut found = lines().filter(|line| line.split_whitespace().nth(1) == Some(wanted));
            let line = found.next().unwrap_or_else(|| panic!("{wanted} in {text}"));
            assert!(found.next().is_none(), "{wanted} twice");
            line.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        for row in Options::default().groups().into_iter().flat_map(OptionGroup::rows) {
            find(row.name);
        }
        let tablets = "uintx MakoAwayTablets = 7 {product} {command line}";
        assert_eq!(find("MakoAwayTablets"), tablets);
        assert_eq!(find("MaxHeapSize"), "uintx MaxHeapSize = 67108864 {product} {command line}");
        assert_eq!(find("UseHIT"), "bool UseHIT = true {ablation} {default}");
        assert_eq!(find("MemLinerMaxDL"), "ccstr MemLinerMaxDL = auto {paper} {default}");
    }
}
