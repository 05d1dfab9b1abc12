//! HotSpot's `-XX` options in JDK 17, which scripts pass unchanged, and what this VM does with each. The list is
//! `hotspot.txt`.

use std::collections::HashMap;
use std::sync::OnceLock;

/// One of HotSpot's options.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flag {
    pub name: &'static str,
    /// `bool`, `intx`, `ccstr`, ...
    pub type_name: &'static str,
    /// The default, as `-XX:+PrintFlagsFinal` shows it. Where [`Treatment::Ignored`] or [`Treatment::Refused`] says
    /// `is_as_is`, it is this VM's.
    pub default: &'static str,
    /// The least and the largest number.
    pub range: Option<(&'static str, &'static str)>,
    /// `product`, `C2 diagnostic`, ...
    pub kind: &'static str,
    pub treatment: Treatment,
}

/// What this VM does with an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// It has the effect that it has under HotSpot.
    Works,
    /// It is accepted, with a warning that says why it has no effect. `is_as_is`: the VM behaves like the default.
    Ignored { reason: &'static str, is_as_is: bool },
    /// The VM does not start, but with the default, which is what it does anyway.
    Refused { reason: &'static str },
}

/// The form of the option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `-XX:+Name`, `-XX:-Name`
    Switch,
    /// `-XX:Name=4m`
    Number,
    /// `-XX:Name=0.5`
    Fraction,
    /// `-XX:Name=text`
    Text,
}

/// Which unlocking switch the option needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Product,
    Diagnostic,
    Experimental,
}

impl Flag {
    pub fn value_kind(&self) -> Kind {
        match self.type_name {
            "bool" => Kind::Switch,
            "double" => Kind::Fraction,
            "ccstr" | "ccstrlist" => Kind::Text,
            _ => Kind::Number,
        }
    }

    pub fn level(&self) -> Level {
        match self.kind.rsplit(' ').next() {
            Some("diagnostic") => Level::Diagnostic,
            Some("experimental") => Level::Experimental,
            _ => Level::Product,
        }
    }

    /// Whether a value is in the range, if the option has one.
    pub fn allows(&self, value: Value) -> bool {
        let Some((least, most)) = self.range else { return true };
        match value {
            Value::Whole(number) => {
                let limit = |text: &str| text.parse::<i128>();
                limit(least).is_ok_and(|least| least <= number)
                    && limit(most).is_ok_and(|most| number <= most)
            }
            Value::Fraction(number) => {
                let limit = |text: &str| text.parse::<f64>();
                limit(least).is_ok_and(|least| least <= number)
                    && limit(most).is_ok_and(|most| number <= most)
            }
        }
    }
}

/// A number that was given.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    Whole(i128),
    Fraction(f64),
}

/// HotSpot's option of this name.
pub fn find(name: &str) -> Option<&'static Flag> {
    static BY_NAME: OnceLock<HashMap<&'static str, &'static Flag>> = OnceLock::new();
    BY_NAME.get_or_init(|| all().iter().map(|flag| (flag.name, flag)).collect()).get(name).copied()
}

/// All options of HotSpot, in the order of the list.
pub fn all() -> &'static [Flag] {
    static FLAGS: OnceLock<Vec<Flag>> = OnceLock::new();
    FLAGS.get_or_init(|| read(include_str!("hotspot.txt")))
}

/// The list is a part of the program: a line of another form is a fault of the program.
fn read(text: &'static str) -> Vec<Flag> {
    let mut flags = Vec::new();
    let mut section = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.is_empty() {
            section = "";
        } else if section.is_empty() {
            section = line;
        } else {
            flags.push(flag(line, section).unwrap_or_else(|| panic!("{line} in {section}")));
        }
    }
    flags
}

fn flag(line: &'static str, section: &'static str) -> Option<Flag> {
    let mut words = line.splitn(4, ' ');
    let (type_name, name, default, rest) =
        (words.next()?, words.next()?, words.next()?, words.next()?);
    let is_as_is = default.starts_with('!');
    let default = default.trim_start_matches('!');
    let treatment = match section.split_once(": ") {
        None if section == "works" => Treatment::Works,
        Some(("ignored", reason)) => Treatment::Ignored { reason, is_as_is },
        Some(("refused", reason)) if is_as_is => Treatment::Refused { reason },
        _ => return None,
    };
    let (range, kind) = match rest.split_once(' ') {
        Some((range, kind)) if range.contains("..") => (range.split_once(".."), kind),
        _ => (None, rest),
    };
    let default = if default == "-" { "" } else { default };
    Some(Flag { name, type_name, default, range, kind, treatment })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_read() {
        assert!(all().len() > 890, "{}", all().len());
        assert_eq!(find("MaxTenuringThreshold").unwrap().range, Some(("0", "16")));
        let parallel = find("UseParallelGC").unwrap();
        assert_eq!((parallel.value_kind(), parallel.level()), (Kind::Switch, Level::Product));
        let flag = find("VerifyBeforeGC").unwrap();
        assert_eq!((flag.value_kind(), flag.level()), (Kind::Switch, Level::Diagnostic));
        assert_eq!(find("EliminateLocks").unwrap().kind, "C2 product");
        assert_eq!(
            find("SelfDestructTimer").unwrap().treatment,
            Treatment::Refused { reason: "this VM does not stop for that" }
        );
        assert_eq!((find("NoSuchFlag"), find("")), (None, None));
        let names: std::collections::HashSet<_> = all().iter().map(|flag| flag.name).collect();
        assert_eq!(names.len(), all().len(), "a name is listed twice");
    }

    #[test]
    fn numbers_have_ranges() {
        let allows = |name: &str, value| find(name).unwrap().allows(value);
        assert!(allows("TieredStopAtLevel", Value::Whole(4)));
        assert!(!allows("TieredStopAtLevel", Value::Whole(5)));
        assert!(!allows("TieredStopAtLevel", Value::Whole(-1)));
        assert!(allows("TLABSize", Value::Whole(i128::from(u64::MAX))));
        assert!(allows("MaxRAMPercentage", Value::Fraction(50.0)));
        assert!(!allows("MaxRAMPercentage", Value::Fraction(101.0)));
    }
}
