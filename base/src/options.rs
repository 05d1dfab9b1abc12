//! Options as one table for each struct: [`options!`](crate::options!).
//!
//! A row describes an option completely: field, type, unit, default, name, range, purpose, and its help text, which
//! is the doc comment. From the table come the struct itself and its defaults, reading with ranges
//! ([`OptionGroup::set`]), and the rows that help texts, references and lists of flags show ([`OptionGroup::rows`]).

use crate::units::{parse_bandwidth, parse_bytes, parse_duration};
use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// The setting of an option on a command line.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Setting<'a> {
    /// `-XX:+Name`
    On,
    /// `-XX:-Name`
    Off,
    /// `-XX:Name=text`
    Text(&'a str),
    /// `-XX:Name`
    Missing,
}

/// The purpose of an option.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Purpose {
    /// For all users who run programs.
    Product,
    /// Switches a mechanism off, to measure it.
    Ablation,
    /// A parameter of a paper, to repeat its measurements.
    Paper,
    /// For work on the VM itself.
    Debug,
}

/// Why a setting is refused.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BadSetting {
    /// A value for a switch, `+` or `-` for another option.
    Form {
        is_switch: bool,
    },
    /// No number, or no such word.
    Malformed(String),
    Outside(RangeInclusive<u64>),
}

/// One option as help texts and lists show it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Row {
    pub name: &'static str,
    /// The form of the value behind the name: `<n>`, `<percent>`; empty for a switch.
    pub form: &'static str,
    /// Lines, without the spaces that a doc comment begins with.
    pub help: String,
    pub purpose: Purpose,
    pub range: Option<RangeInclusive<u64>>,
    pub default: String,
    pub value: String,
}

/// The options of a struct.
pub trait OptionGroup {
    /// The group's title in `--help=NAME`.
    fn title(&self) -> &'static str;

    /// Sets an option. False: none of the group's has this name.
    fn set(&mut self, name: &str, setting: Setting<'_>) -> Result<bool, BadSetting>;

    /// All options, in the order of the table.
    fn rows(&self) -> Vec<Row>;
}

/// How values of type `T` are written.
pub trait Unit<T> {
    /// See [`Row::form`].
    const FORM: &'static str;

    fn read(setting: Setting<'_>, range: Option<RangeInclusive<u64>>) -> Result<T, BadSetting>;

    /// Sets a field. Values of which there may be several are added to it.
    fn put(
        field: &mut T,
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<(), BadSetting> {
        *field = Self::read(setting, range)?;
        Ok(())
    }

    fn show(value: &T) -> String;
}

/// On or off.
pub struct Switch;

/// A plain number.
pub struct Count;

/// Bytes, with k, m, g or t.
pub struct Size;

/// Percent of the quantity that the help text names.
pub struct Percent;

/// A decimal number.
pub struct Decimal;

/// Milliseconds.
pub struct Millis;

/// Microseconds.
pub struct Micros;

/// One of several words, or anything else that the type reads itself.
pub struct Word;

impl Unit<bool> for Switch {
    const FORM: &'static str = "";

    fn read(setting: Setting<'_>, _range: Option<RangeInclusive<u64>>) -> Result<bool, BadSetting> {
        match setting {
            Setting::On => Ok(true),
            Setting::Off => Ok(false),
            Setting::Text(_) | Setting::Missing => Err(BadSetting::Form { is_switch: true }),
        }
    }

    fn show(value: &bool) -> String {
        value.to_string()
    }
}

impl<T: FromStr<Err: Display> + Display> Unit<T> for Word {
    const FORM: &'static str = "<name>";

    fn read(setting: Setting<'_>, _range: Option<RangeInclusive<u64>>) -> Result<T, BadSetting> {
        text(setting)?.parse().map_err(|error: T::Err| BadSetting::Malformed(error.to_string()))
    }

    fn show(value: &T) -> String {
        value.to_string()
    }
}

/// Units whose values are numbers of these types.
macro_rules! numbers {
    ($($unit:ident $form:literal: $($number:ty)*;)*) => {
        $($(
            impl Unit<$number> for $unit {
                const FORM: &'static str = $form;

                fn read(
                    setting: Setting<'_>,
                    range: Option<RangeInclusive<u64>>,
                ) -> Result<$number, BadSetting> {
                    let most = <$number>::MAX as u64;
                    let number = number(setting, range.unwrap_or(0..=most))?;
                    <$number>::try_from(number).map_err(|_| BadSetting::Outside(0..=most))
                }

                fn show(value: &$number) -> String {
                    value.to_string()
                }
            }
        )*)*
    };
}

numbers! {
    Count "<n>": u8 u16 u32 u64 usize i32;
    Size "<size>": usize;
    Percent "<percent>": u32 usize;
    Millis "<ms>": u64;
}

impl Unit<f64> for Decimal {
    const FORM: &'static str = "<decimal>";

    fn read(setting: Setting<'_>, range: Option<RangeInclusive<u64>>) -> Result<f64, BadSetting> {
        let number = text(setting)?.parse().ok().filter(|number: &f64| number.is_finite());
        let number = number.ok_or_else(|| BadSetting::Malformed(String::new()))?;
        let limits = |range: &RangeInclusive<u64>| *range.start() as f64..=*range.end() as f64;
        match range.filter(|range| !limits(range).contains(&number)) {
            Some(range) => Err(BadSetting::Outside(range)),
            None => Ok(number),
        }
    }

    fn show(value: &f64) -> String {
        value.to_string()
    }
}

impl Unit<Duration> for Millis {
    const FORM: &'static str = "<ms>";

    fn read(
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Duration, BadSetting> {
        Ok(Duration::from_millis(number(setting, range.unwrap_or(0..=u64::MAX))?))
    }

    fn show(value: &Duration) -> String {
        value.as_millis().to_string()
    }
}

impl Unit<Duration> for Micros {
    const FORM: &'static str = "<us>";

    fn read(
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Duration, BadSetting> {
        Ok(Duration::from_micros(number(setting, range.unwrap_or(0..=u64::MAX))?))
    }

    fn show(value: &Duration) -> String {
        value.as_micros().to_string()
    }
}

/// A number, of which 0 is the same as none given.
pub struct CountOrNone;

/// Seconds; 0: without end.
pub struct SecondsOrNone;

impl<T: Copy + PartialEq + Default> Unit<Option<T>> for CountOrNone
where
    Count: Unit<T>,
{
    const FORM: &'static str = "<n>";

    fn read(
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Option<T>, BadSetting> {
        Ok(Some(Count::read(setting, range)?).filter(|number| *number != T::default()))
    }

    fn show(value: &Option<T>) -> String {
        Count::show(&value.unwrap_or_default())
    }
}

impl Unit<Option<Duration>> for SecondsOrNone {
    const FORM: &'static str = "<s>";

    fn read(
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Option<Duration>, BadSetting> {
        let seconds = number(setting, range.unwrap_or(0..=u64::MAX))?;
        Ok((seconds > 0).then(|| Duration::from_secs(seconds)))
    }

    fn show(value: &Option<Duration>) -> String {
        value.map_or(0, |time| time.as_secs()).to_string()
    }
}

/// A decimal number with ns, us, ms or s.
pub struct Time;

impl Unit<Duration> for Time {
    const FORM: &'static str = "<time>";

    fn read(
        setting: Setting<'_>,
        _range: Option<RangeInclusive<u64>>,
    ) -> Result<Duration, BadSetting> {
        let text = text(setting)?;
        let malformed = || BadSetting::Malformed("not a time such as 5us".into());
        parse_duration(text).ok_or_else(malformed)
    }

    fn show(value: &Duration) -> String {
        let nanos = value.as_nanos();
        let units = [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")];
        let whole = units.iter().find(|(unit, _)| nanos.is_multiple_of(*unit));
        let (unit, name) = whole.unwrap_or(&(1, "ns"));
        format!("{}{name}", nanos / unit)
    }
}

/// Bytes per second, as `40gbit` or as a size.
pub struct Rate;

impl Unit<u64> for Rate {
    const FORM: &'static str = "<rate>";

    fn read(setting: Setting<'_>, _range: Option<RangeInclusive<u64>>) -> Result<u64, BadSetting> {
        let text = text(setting)?;
        let malformed = || BadSetting::Malformed("not a rate such as 40gbit".into());
        parse_bandwidth(text).ok_or_else(malformed)
    }

    fn show(value: &u64) -> String {
        value.to_string()
    }
}

/// The path of a file or folder.
pub struct File;

impl Unit<Option<PathBuf>> for File {
    const FORM: &'static str = "<file>";

    fn read(
        setting: Setting<'_>,
        _range: Option<RangeInclusive<u64>>,
    ) -> Result<Option<PathBuf>, BadSetting> {
        Ok(Some(text(setting)?.into()))
    }

    fn show(value: &Option<PathBuf>) -> String {
        value.as_ref().map_or(String::new(), |path| path.display().to_string())
    }
}

/// A value of another unit, or none, where the VM chooses by itself.
pub struct OrAuto<U>(PhantomData<U>);

/// A value of another unit, or none.
pub struct OrNone<U>(PhantomData<U>);

/// Units whose values are those of another unit, or none, which is shown by a word.
macro_rules! optional {
    ($($unit:ident $none:literal;)*) => {$(
        impl<T, U: Unit<T>> Unit<Option<T>> for $unit<U> {
            const FORM: &'static str = U::FORM;

            fn read(
                setting: Setting<'_>,
                range: Option<RangeInclusive<u64>>,
            ) -> Result<Option<T>, BadSetting> {
                U::read(setting, range).map(Some)
            }

            fn show(value: &Option<T>) -> String {
                value.as_ref().map_or_else(|| $none.to_string(), U::show)
            }
        }
    )*};
}

optional! {
    OrAuto "auto";
    OrNone "";
}

/// Several values of another unit: the option may be repeated.
pub struct Repeated<U>(PhantomData<U>);

impl<T, U: Unit<T>> Unit<Vec<T>> for Repeated<U> {
    const FORM: &'static str = U::FORM;

    fn read(
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<Vec<T>, BadSetting> {
        Ok(vec![U::read(setting, range)?])
    }

    fn put(
        field: &mut Vec<T>,
        setting: Setting<'_>,
        range: Option<RangeInclusive<u64>>,
    ) -> Result<(), BadSetting> {
        field.extend(Self::read(setting, range)?);
        Ok(())
    }

    fn show(value: &Vec<T>) -> String {
        value.iter().map(U::show).collect::<Vec<_>>().join(",")
    }
}

fn text(setting: Setting<'_>) -> Result<&str, BadSetting> {
    match setting {
        Setting::Text(text) => Ok(text),
        Setting::On | Setting::Off => Err(BadSetting::Form { is_switch: false }),
        Setting::Missing => Err(BadSetting::Malformed(String::new())),
    }
}

fn number(setting: Setting<'_>, range: RangeInclusive<u64>) -> Result<u64, BadSetting> {
    let text = text(setting)?;
    // A number with a sign is a number all the same.
    if text.strip_prefix('-').is_some_and(|digits| parse_bytes(digits).is_some()) {
        return Err(BadSetting::Outside(range));
    }
    let number = parse_bytes(text).ok_or_else(|| BadSetting::Malformed(String::new()))? as u64;
    match range.contains(&number) {
        true => Ok(number),
        false => Err(BadSetting::Outside(range)),
    }
}

impl BadSetting {
    /// The message of `java` for an option that is given as `-XX:` and this text.
    pub fn message(&self, name: &str, given: &str) -> String {
        match self {
            BadSetting::Form { is_switch: true } => {
                format!("Missing +/- setting for VM option '{given}'")
            }
            BadSetting::Form { is_switch: false } => {
                format!("Unexpected +/- setting in VM option '{name}'")
            }
            BadSetting::Malformed(why) if why.is_empty() => {
                format!("Improperly specified VM option '{given}'")
            }
            BadSetting::Malformed(why) => {
                format!("Improperly specified VM option '{given}': {why}")
            }
            BadSetting::Outside(range) => {
                let (least, most) = (range.start(), range.end());
                format!("{given} is outside the allowed range [ {least} ... {most} ]")
            }
        }
    }
}

impl Row {
    /// The limits of a number, as help texts show them.
    pub fn limits(&self) -> Option<String> {
        self.range.as_ref().map(|range| format!("{} to {}", range.start(), range.end()))
    }

    /// As a command line has it: the usual form of a switch is the one that changes it.
    pub fn usage(&self) -> String {
        match (self.form, self.default.as_str()) {
            ("", "true") => format!("-XX:-{}", self.name),
            ("", _) => format!("-XX:+{}", self.name),
            (form, default) => format!("-XX:{}={default} {form}", self.name),
        }
    }
}

impl Display for Purpose {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Purpose::Product => "product",
            Purpose::Ablation => "ablation",
            Purpose::Paper => "paper",
            Purpose::Debug => "debug",
        })
    }
}

/// A doc comment's lines as help.
pub fn help(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join("\n")
}

/// A struct of options, and its table. Each row:
///
/// ```text
/// /// Help text.
/// pub field: Type as Unit = default, "Name" in 0..=100, Purpose;
/// pub field: Option<Type> as OrNone of Unit = None, "Name", Purpose;
/// ```
///
/// The range may be omitted. Behind the table, `with { ... }` may hold fields that are no options, or not of this
/// form. See [`OptionGroup`] for the result.
#[macro_export]
macro_rules! options {
    (
        $(#[$meta:meta])*
        $vis:vis struct $group:ident, $title:literal {
            $(
                $(#[doc = $doc:literal])*
                $field_vis:vis $field:ident: $type:ty as $unit:ident $(of $inner:ident)? = $default:expr,
                    $name:literal $(in $range:expr)?, $purpose:ident;
            )*
        }
        $(
            with {
                $(
                    $(#[$other_meta:meta])*
                    $other_vis:vis $other:ident: $other_type:ty = $other_default:expr;
                )*
            }
        )?
    ) => {
        $(#[$meta])*
        $vis struct $group {
            $(
                #[doc = concat!("`-XX:", $name, "`:")]
                $(#[doc = $doc])*
                $field_vis $field: $type,
            )*
            $($(
                $(#[$other_meta])*
                $other_vis $other: $other_type,
            )*)?
        }

        impl Default for $group {
            fn default() -> $group {
                $group { $($field: $default,)* $($($other: $other_default,)*)? }
            }
        }

        impl $crate::options::OptionGroup for $group {
            fn title(&self) -> &'static str {
                $title
            }

            fn set(
                &mut self,
                name: &str,
                setting: $crate::options::Setting<'_>,
            ) -> Result<bool, $crate::options::BadSetting> {
                match name {
                    $(
                        $name => {
                            type Unit = $crate::options::$unit $(<$crate::options::$inner>)?;
                            let range = $crate::option_range!($($range)?);
                            <Unit as $crate::options::Unit<$type>>::put(&mut self.$field, setting, range)?;
                        }
                    )*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            fn rows(&self) -> Vec<$crate::options::Row> {
                let default = $group::default();
                vec![$(
                    {
                        type Unit = $crate::options::$unit $(<$crate::options::$inner>)?;
                        let show = <Unit as $crate::options::Unit<$type>>::show;
                        $crate::options::Row {
                            name: $name,
                            form: <Unit as $crate::options::Unit<$type>>::FORM,
                            help: $crate::options::help(&[$($doc),*]),
                            purpose: $crate::options::Purpose::$purpose,
                            range: $crate::option_range!($($range)?),
                            default: show(&default.$field),
                            value: show(&self.$field),
                        }
                    }
                ),*]
            }
        }
    };
}

/// For [`options!`](crate::options!) alone: the range of a row, if it has one.
#[doc(hidden)]
#[macro_export]
macro_rules! option_range {
    () => {
        None
    };
    ($range:expr) => {
        Some($range)
    };
}

#[cfg(test)]
mod tests {
    use super::*;

    options! {
        /// Of a test.
        #[derive(Clone, Copy, PartialEq, Debug)]
        struct Sample, "sample" {
            /// Does it,
            /// or not.
            does: bool as Switch = true, "Does", Ablation;
            /// How many.
            count: u8 as Count = 3, "Count" in 1..=200, Product;
            /// How long.
            delay: Duration as Micros = Duration::from_micros(50), "Delay" in 1..=1000, Paper;
            /// Where.
            port: u16 as Word = 80, "Port", Debug;
            /// Each how many.
            each: Option<u64> as CountOrNone = None, "Each", Debug;
            /// How wide.
            width: Option<bool> as OrAuto of Switch = None, "Width", Product;
            /// How fast.
            rate: u64 as Rate = 0, "Rate", Debug;
            /// How far.
            distance: Duration as Time = Duration::ZERO, "Distance", Debug;
            /// Which part.
            part: f64 as Decimal = 25.0, "Part" in 0..=100, Product;
        } with {
            /// No option.
            other: usize = 5;
        }
    }

    fn set(name: &str, setting: Setting<'_>) -> Result<Sample, BadSetting> {
        let mut sample = Sample::default();
        assert_eq!(sample.set(name, setting)?, name != "Other");
        Ok(sample)
    }

    #[test]
    fn rows_are_read_with_their_ranges() {
        let default = Sample::default();
        assert_eq!((default.does, default.count, default.port, default.other), (true, 3, 80, 5));
        assert_eq!(set("Each", Setting::Text("4")), Ok(Sample { each: Some(4), ..default }));
        assert_eq!(set("Each", Setting::Text("0")), Ok(default));
        assert_eq!(set("Other", Setting::On), Ok(default));
        assert_eq!(set("Width", Setting::Off), Ok(Sample { width: Some(false), ..default }));
        let no_rate = BadSetting::Malformed("not a rate such as 40gbit".into());
        assert_eq!(set("Rate", Setting::Text("8kbit")), Err(no_rate));
        assert_eq!(set("Rate", Setting::Text("4k")), Ok(Sample { rate: 4096, ..default }));
        let distance = Duration::from_nanos(1500);
        assert_eq!(set("Distance", Setting::Text("1.5us")), Ok(Sample { distance, ..default }));
        assert_eq!(set("Does", Setting::Off), Ok(Sample { does: false, ..default }));
        assert_eq!(set("Count", Setting::Text("200")), Ok(Sample { count: 200, ..default }));
        assert_eq!(set("Part", Setting::Text("12.5")), Ok(Sample { part: 12.5, ..default }));
        assert_eq!(set("Part", Setting::Text("100.1")), Err(BadSetting::Outside(0..=100)));
        for no_number in ["NaN", "inf", "1m", ""] {
            let malformed = Err(BadSetting::Malformed(String::new()));
            assert_eq!(set("Part", Setting::Text(no_number)), malformed, "{no_number}");
        }
        let delay = Duration::from_micros(7);
        assert_eq!(set("Delay", Setting::Text("7")), Ok(Sample { delay, ..default }));
        assert_eq!(set("Port", Setting::Text("443")), Ok(Sample { port: 443, ..default }));
    }

    #[test]
    fn what_a_row_does_not_allow_is_refused_as_java_does() {
        let refused =
            |name, setting, given| set(name, setting).expect_err(given).message(name, given);
        let text = Setting::Text;
        let outside = "Count=201 is outside the allowed range [ 1 ... 200 ]";
        assert_eq!(refused("Count", text("201"), "Count=201"), outside);
        assert_eq!(refused("Count", text("-1"), "Count=-1").split(' ').nth(1), Some("is"));
        let improper = "Improperly specified VM option 'Count=x'";
        assert_eq!(refused("Count", text("x"), "Count=x"), improper);
        assert_eq!(refused("Count", text("4k"), "Count=4k").split(' ').nth(2), Some("outside"));
        let missing = "Missing +/- setting for VM option 'Does=1'";
        assert_eq!(refused("Does", text("1"), "Does=1"), missing);
        let unexpected = "Unexpected +/- setting in VM option 'Count'";
        assert_eq!(refused("Count", Setting::On, "+Count"), unexpected);
        let missing = "Missing +/- setting for VM option 'Does'";
        assert_eq!(refused("Does", Setting::Missing, "Does"), missing);
        let improper = "Improperly specified VM option 'Port'";
        assert_eq!(refused("Port", Setting::Missing, "Port"), improper);
        assert!(refused("Port", text("65536"), "Port=65536").contains("too large"));
        let no_rate = "Improperly specified VM option 'Rate=fast': not a rate such as 40gbit";
        assert_eq!(refused("Rate", text("fast"), "Rate=fast"), no_rate);
        let no_time = "Improperly specified VM option 'Distance=5': not a time such as 5us";
        assert_eq!(refused("Distance", text("5"), "Distance=5"), no_time);
    }

    #[test]
    fn an_option_of_several_values_may_be_repeated() {
        type Ports = Repeated<Word>;
        let mut ports = vec![1_u16];
        assert_eq!(Ports::put(&mut ports, Setting::Text("2"), None), Ok(()));
        assert!(Ports::put(&mut ports, Setting::Text("x"), None).is_err());
        assert_eq!((ports.as_slice(), Ports::show(&ports).as_str()), (&[1, 2][..], "1,2"));
        let times =
            [(0, "0s"), (5_000, "5us"), (1_500_000, "1500us"), (7, "7ns"), (2_000_000, "2ms")];
        for (nanos, shown) in times {
            assert_eq!(Time::show(&Duration::from_nanos(nanos)), shown);
        }
    }

    #[test]
    fn rows_show_what_is_and_what_would_be() {
        let mut sample = Sample::default();
        assert_eq!(sample.set("Delay", Setting::Text("9")), Ok(true));
        let rows = sample.rows();
        let usage: Vec<_> = rows.iter().map(Row::usage).collect();
        assert_eq!(
            usage,
            [
                "-XX:-Does",
                "-XX:Count=3 <n>",
                "-XX:Delay=50 <us>",
                "-XX:Port=80 <name>",
                "-XX:Each=0 <n>",
                "-XX:+Width",
                "-XX:Rate=0 <rate>",
                "-XX:Distance=0s <time>",
                "-XX:Part=25 <decimal>"
            ]
        );
        assert_eq!(rows[0].help, "Does it,\nor not.");
        assert_eq!((rows[0].limits(), rows[1].limits()), (None, Some("1 to 200".to_string())));
        assert_eq!((rows[2].value.as_str(), rows[2].range.clone()), ("9", Some(1..=1000)));
        assert_eq!((sample.title(), rows[3].purpose.to_string().as_str()), ("sample", "debug"));
    }
}
