//! `-Xlog`: which lines are printed, and where.
//!
//! An option names lines ([`selection`]), an output ([`output`]) and what stands before each line ([`decorators`]). For
//! each output there is one list of selections, of which the last one that is about a line decides.

pub mod decorators;
mod help;
mod output;
mod selection;
pub mod tags;

pub use help::text as help;

use decorators::{Decorators, Facts};
use gc::object::log::{LogLevel, LogLine};
use output::{Output, STDERR, STDOUT};
use selection::Selection;
use std::io;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Instant;

/// The outputs that the options name, while they are read.
#[derive(Debug)]
pub struct LogOptions {
    outputs: Vec<Output>,
    /// Lines from before there is a log: their tags and texts.
    early: Vec<(&'static str, String)>,
}

impl Default for LogOptions {
    /// Warnings go to standard output.
    fn default() -> LogOptions {
        let open = |name: &str| Output::open(name, "").expect("no file is opened");
        let mut stdout = open(STDOUT);
        stdout.select(vec![Selection::all(LogLevel::Warning)], Decorators::default());
        LogOptions { outputs: vec![stdout, open(STDERR)], early: Vec::new() }
    }
}

impl LogOptions {
    /// Reads the text behind `-Xlog` (`:gc*=debug:file=gc.log:uptime:filecount=3`). Returns warnings; the error is the
    /// text to print.
    pub fn read(&mut self, text: &str) -> Result<Vec<String>, String> {
        let invalid = |why: String| {
            format!(
                "[0.000s][error][logging] {why}\n\
                 Invalid -Xlog option '-Xlog{text}', see error log for details."
            )
        };
        let given = text.strip_prefix(':').unwrap_or(text);
        match given {
            "disable" => {
                self.outputs.iter_mut().for_each(Output::disable);
                return Ok(Vec::new());
            }
            "async" => {
                let why = "threads write their lines by themselves";
                return Ok(vec![format!("Ignoring option -Xlog:async: {why}")]);
            }
            _ => (),
        }
        let [what, output, decorators, settings] = parts(given).map_err(invalid)?;
        let selections = Selection::list(what).map_err(invalid)?;
        let decorators = Decorators::parse(decorators).map_err(invalid)?;
        let vain = selections.iter().zip(what.split(',')).filter(|(one, _)| one.is_in_vain());
        let warning = |(_, text): (&Selection, &str)| {
            format!("Ignoring the log selection {text}: this VM logs nothing of the kind")
        };
        let mut warnings: Vec<String> = vain.map(warning).collect();
        let name = output_name(output).map_err(invalid)?;
        let at = match self.outputs.iter().position(|known| known.name() == name) {
            Some(at) => {
                if !settings.is_empty() {
                    warnings.push("Output options for existing outputs are ignored.".into());
                }
                at
            }
            None => {
                let failed = |why: String| {
                    let settings = if settings.is_empty() { "(null)" } else { settings };
                    invalid(format!(
                        "{why}\n[0.000s][error][logging] Initialization of output 'file={name}' \
                         using options '{settings}' failed."
                    ))
                };
                self.outputs.push(Output::open(&name, settings).map_err(failed)?);
                self.outputs.len() - 1
            }
        };
        self.outputs[at].select(selections, decorators);
        Ok(warnings)
    }

    /// Says something as soon as there is a log, at level `warning`.
    pub fn warn(&mut self, tags: &'static str, message: String) {
        self.early.push((tags, message));
    }
}

/// What, output, decorators and settings of a file. A path in quotation marks may contain colons.
fn parts(text: &str) -> Result<[&str; 4], String> {
    let (what, rest) = text.split_once(':').unwrap_or((text, ""));
    let (output, rest) = match rest.strip_prefix("file=\"").or(rest.strip_prefix('"')) {
        Some(quoted) => {
            let unmatched =
                || "Output name has opening quote but is missing a terminating quote.".to_string();
            let (path, rest) = quoted.split_once('"').ok_or_else(unmatched)?;
            (path, rest.strip_prefix(':').unwrap_or(rest))
        }
        None => rest.split_once(':').unwrap_or((rest, "")),
    };
    let (decorators, settings) = rest.split_once(':').unwrap_or((rest, ""));
    Ok([what, output, decorators, settings])
}

/// `stdout`, `stderr`, or a path.
fn output_name(output: &str) -> Result<String, String> {
    match output.split_once('=') {
        _ if output.is_empty() => Ok(STDOUT.into()),
        Some(("file", path)) => Ok(path.into()),
        Some((kind, _)) if !kind.contains('/') => {
            Err(format!("Unsupported log output type: {output}"))
        }
        _ => Ok(output.into()),
    }
}

/// The system's word for an error, without its number.
fn os_reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().into()
}

/// The outputs of a VM, and the switches that beans have set since.
#[derive(Debug)]
pub struct Log {
    outputs: Vec<Output>,
    started: Instant,
    /// By [`Topic`]: 0 as the options say, else `ON` or `OFF`. Beans write, logging threads read; relaxed.
    switches: [AtomicU8; 2],
    /// Some output wants loaded classes.
    wants_classes: bool,
    /// Some output wants unloaded classes.
    wants_unloaded: bool,
    /// Some output wants exceptions.
    wants_exceptions: bool,
    /// Some output wants each monitor that an object gets or loses.
    wants_monitors: bool,
}

/// The topics that can be switched while the VM runs (`setVerbose` of beans), for standard output.
#[derive(Clone, Copy, Debug)]
pub enum Topic {
    Gc,
    Classes,
}

impl Log {
    /// Begins with the lines that were too early. Uptimes count from `started`.
    pub fn new(options: LogOptions, started: Instant) -> Log {
        let LogOptions { outputs, early } = options;
        let wants = |tags, level| outputs.iter().any(|output| output.wants(tags, level));
        let log = Log {
            wants_classes: wants(CLASSES, LogLevel::Info),
            wants_unloaded: wants(UNLOADED, LogLevel::Info),
            wants_exceptions: wants(EXCEPTIONS, LogLevel::Info),
            wants_monitors: wants(MONITORS, LogLevel::Trace),
            outputs,
            started,
            switches: Default::default(),
        };
        for (tags, message) in &early {
            log.line(LogLine { level: LogLevel::Warning, tags, message });
        }
        log
    }

    /// Prints a line where options and switches want it.
    pub fn line(&self, line: LogLine<'_>) {
        let facts = Facts { started: self.started, level: line.level, tags: line.tags };
        let switch = match line.tags {
            "gc" => self.switch(Topic::Gc),
            CLASSES => self.switch(Topic::Classes),
            _ => AS_OPTIONS,
        };
        for output in &self.outputs {
            let is_wanted = match switch {
                ON if output.is_stdout() => line.level >= LogLevel::Info,
                OFF if output.is_stdout() => false,
                _ => output.wants(line.tags, line.level),
            };
            if is_wanted {
                output.write(&facts, line.message);
            }
        }
    }

    /// Whether an output wants lines of this level with these tags.
    pub fn wants(&self, tags: &str, level: LogLevel) -> bool {
        self.outputs.iter().any(|output| output.wants(tags, level))
    }

    /// Whether exceptions are logged.
    #[inline]
    pub fn wants_exceptions(&self) -> bool {
        self.wants_exceptions
    }

    /// Whether each monitor that an object gets or loses is logged.
    #[inline]
    pub fn wants_monitors(&self) -> bool {
        self.wants_monitors
    }

    /// Whether loaded classes are logged.
    #[inline]
    pub fn wants_classes(&self) -> bool {
        self.wants_classes || self.switch(Topic::Classes) == ON
    }

    /// Whether unloaded classes are logged.
    pub fn wants_unloaded_classes(&self) -> bool {
        self.wants_unloaded || self.switch(Topic::Classes) == ON
    }

    /// Whether a topic is logged to standard output. As HotSpot has it, an option must name the topic with a
    /// star for classes, of whose tags there are longer lists.
    pub fn is_verbose(&self, topic: Topic) -> bool {
        match (self.switch(topic), topic) {
            (ON, _) => true,
            (OFF, _) => false,
            (_, Topic::Gc) => self.is_on_stdout("gc"),
            (_, Topic::Classes) => {
                self.is_on_stdout(CLASSES) && self.is_on_stdout("class,load,cause")
            }
        }
    }

    pub fn set_verbose(&self, topic: Topic, is_on: bool) {
        self.switches[topic as usize].store(if is_on { ON } else { OFF }, Ordering::Relaxed);
    }

    fn switch(&self, topic: Topic) -> u8 {
        self.switches[topic as usize].load(Ordering::Relaxed)
    }

    fn is_on_stdout(&self, tags: &str) -> bool {
        self.outputs.iter().any(|o| o.is_stdout() && o.wants(tags, LogLevel::Info))
    }
}

const CLASSES: &str = "class,load";
/// Those of lines about unloaded classes.
const UNLOADED: &str = "class,unload";

const EXCEPTIONS: &str = "exceptions";
const MONITORS: &str = "monitorinflation";
const AS_OPTIONS: u8 = 0;
const ON: u8 = 1;
const OFF: u8 = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn log(options: &[&str]) -> Log {
        let mut read = LogOptions::default();
        options.iter().for_each(|text| assert_eq!(read.read(text), Ok(Vec::new()), "{text}"));
        Log::new(read, Instant::now())
    }

    #[test]
    fn selects_by_tags_and_level() {
        let gc = log(&[":gc*,safepoint=debug:stderr:uptime"]);
        assert!(gc.wants("gc,heap", LogLevel::Info));
        assert!(!gc.wants("gc,heap", LogLevel::Debug));
        assert!(gc.wants("safepoint", LogLevel::Debug));
        assert!(!gc.wants("safepoint,stats", LogLevel::Info));
        assert!(gc.wants("class,load", LogLevel::Warning));
        let gc = log(&[":gc"]);
        assert!(gc.wants("gc", LogLevel::Info) && !gc.wants("gc,heap", LogLevel::Info));
        assert!(log(&[""]).wants("gc", LogLevel::Info));
        assert!(!log(&[]).wants("gc", LogLevel::Info) && log(&[]).wants("gc", LogLevel::Warning));
        assert!(!log(&[":disable"]).wants("gc", LogLevel::Error));
        assert!(!log(&[":gc", ":gc=off"]).wants("gc", LogLevel::Error));
        assert!(log(&[":gc:stderr", ":gc=off"]).wants("gc", LogLevel::Info));
    }

    #[test]
    fn wrong_options_are_refused_as_java_does() {
        let refused = |text: &str| LogOptions::default().read(text).unwrap_err();
        let last = |text: &str| refused(text).lines().last().unwrap().to_string();
        assert!(refused(":gc=loud").starts_with("[0.000s][error][logging] Invalid level 'loud'"));
        assert_eq!(last(":foo"), "Invalid -Xlog option '-Xlog:foo', see error log for details.");
        assert!(refused(":gc:foo=bar").contains("Unsupported log output type: foo=bar"));
        assert!(refused(":gc::foo").contains("Invalid decorator 'foo'"));
        let missing = refused(":gc:file=/no/folder/x");
        assert!(
            missing.contains("'file=/no/folder/x' using options '(null)' failed."),
            "{missing}"
        );
        assert!(refused(":gc:\"x").contains("terminating quote"));
        let vain = LogOptions::default().read(":gc,jit+compilation=debug").unwrap();
        assert!(vain.len() == 1 && vain[0].contains("jit+compilation=debug"), "{vain:?}");
    }

    #[test]
    fn options_have_up_to_four_parts() {
        let read = |text| parts(text).unwrap();
        assert_eq!(read("gc"), ["gc", "", "", ""]);
        assert_eq!(read("gc::u"), ["gc", "", "u", ""]);
        assert_eq!(read("gc:file=x:u,l:filecount=1"), ["gc", "file=x", "u,l", "filecount=1"]);
        assert_eq!(read("gc:file=\"a:b\":u"), ["gc", "a:b", "u", ""]);
        assert_eq!(output_name(""), Ok(STDOUT.into()));
        assert_eq!(output_name("file=a=b"), Ok("a=b".into()));
    }

    #[test]
    fn beans_switch_what_goes_to_stdout() {
        let log = |text: &str| log(&[text]);
        assert!(log(":gc").is_verbose(Topic::Gc) && !log(":gc:stderr").is_verbose(Topic::Gc));
        assert!(!log(":class+load").is_verbose(Topic::Classes));
        let star = log(":class+load*");
        assert!(star.is_verbose(Topic::Classes) && star.wants_classes());
        star.set_verbose(Topic::Classes, false);
        assert!(!star.is_verbose(Topic::Classes) && !star.is_verbose(Topic::Gc));
        let none = Log::new(LogOptions::default(), Instant::now());
        assert!(!none.wants_classes());
        none.set_verbose(Topic::Classes, true);
        assert!(none.wants_classes() && none.is_verbose(Topic::Classes));
    }
}
