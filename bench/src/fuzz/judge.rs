//! Runs generated programs on HotSpot and on our VM in several modes, and finds differences.
//!
//! Programs run in batches, many in one process, because starting a VM takes longer than most of them. Where a batch
//! does not come out as on HotSpot, its programs run again one by one.

use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::harness::process::{self, End};
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::java::vm::{Setting, Vm};

/// A way to run our VM: a name and options.
#[derive(Clone, Debug)]
pub struct Mode {
    pub name: String,
    pub options: Vec<String>,
}

impl Mode {
    /// `xint`, `default`, `xcomp`, or NAME=OPTIONS.
    pub fn parse(text: &str) -> io::Result<Mode> {
        let (name, options) = match text {
            "xint" => (text, "-Xint"),
            "default" => (text, ""),
            "xcomp" => (text, "-Xcomp"),
            _ => text.split_once('=').ok_or_else(|| {
                io::Error::other(format!("unknown mode {text}; add one with NAME=OPTIONS"))
            })?,
        };
        let options = options.split_whitespace().map(str::to_string).collect();
        Ok(Mode { name: name.to_string(), options })
    }
}

/// The behaviour of a program: how it ended, and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Behaviour {
    pub end: End,
    pub stdout: String,
}

/// A program that behaves differently from HotSpot.
pub struct Mismatch {
    pub program: String,
    pub mode: String,
    pub expected: Behaviour,
    pub actual: Behaviour,
    /// The first lines of the standard error of our VM.
    pub stderr: String,
    /// The programs that ran before it in the same process, if it is wrong only then.
    pub after: Vec<String>,
}

impl Mismatch {
    /// The difference in a few lines.
    pub fn summary(&self) -> String {
        let mut text = format!("{} in mode {}", self.program, self.mode);
        if !self.after.is_empty() {
            text += &format!(" after {}", self.after.join(" "));
        }
        if self.expected.end != self.actual.end {
            text += &format!("\n  {}, expected {}", self.actual.end, self.expected.end);
        }
        let (mut expected, mut actual) = (self.expected.stdout.lines(), self.actual.stdout.lines());
        loop {
            match (expected.next(), actual.next()) {
                (None, None) => break,
                (a, b) if a == b => {}
                (a, b) => {
                    text +=
                        &format!("\n  - {}\n  + {}", a.unwrap_or("(end)"), b.unwrap_or("(end)"));
                    break;
                }
            }
        }
        for line in self.stderr.lines().take(6) {
            text += &format!("\n  stderr: {line}");
        }
        text
    }
}

pub struct Judge {
    pub jdk: Jdk,
    pub vm: Vm,
    pub modes: Vec<Mode>,
    pub heap: String,
    /// For one program on our VM.
    pub limit: Duration,
}

impl Judge {
    /// Writes the source of the class that runs the programs named by its arguments, in order. One alone runs without
    /// it.
    pub fn write_driver(programs: &[String], folder: &Path) -> io::Result<()> {
        let cases: Vec<String> = programs
            .iter()
            .map(|name| format!("                case \"{name}\" -> {name}.main(new String[0]);"))
            .collect();
        let source = DRIVER.replace("CASES", &cases.join("\n"));
        std::fs::write(folder.join(format!("{DRIVER_CLASS}.java")), source)
    }

    /// Compares the programs, whose classes and driver are in `classes`. A mismatch is certain: it was seen in a
    /// process of its own, except where it names the programs that ran before.
    pub fn compare(&self, programs: &[String], classes: &Path) -> io::Result<Vec<Mismatch>> {
        let expected = self.run(None, programs, classes)?;
        if expected.end != End::Exit(0) {
            return Err(io::Error::other(format!("the JDK's own VM: {}", expected.end)));
        }
        let mut found = Vec::new();
        let mut alone = HashMap::new();
        for mode in &self.modes {
            let actual = self.run(Some(mode), programs, classes)?;
            if actual.same_as(&expected) {
                continue;
            }
            let before = found.len();
            for program in programs {
                let mismatch = self.compare_alone(program, mode, classes, &mut alone)?;
                found.extend(mismatch);
            }
            if found.len() == before {
                found.extend(self.only_in_batch(programs, mode, &expected, &actual));
            }
        }
        Ok(found)
    }

    fn compare_alone(
        &self,
        program: &str,
        mode: &Mode,
        classes: &Path,
        known: &mut HashMap<String, Output>,
    ) -> io::Result<Option<Mismatch>> {
        let only = [program.to_string()];
        if !known.contains_key(program) {
            known.insert(program.to_string(), self.run(None, &only, classes)?);
        }
        let (expected, actual) = (&known[program], self.run(Some(mode), &only, classes)?);
        if actual.same_as(expected) {
            return Ok(None);
        }
        Ok(Some(Mismatch {
            program: program.to_string(),
            mode: mode.name.clone(),
            expected: expected.behaviour(),
            actual: actual.behaviour(),
            stderr: actual.stderr,
            after: Vec::new(),
        }))
    }

    /// The first program of the batch that differs, with those before it.
    fn only_in_batch(
        &self,
        programs: &[String],
        mode: &Mode,
        expected: &Output,
        actual: &Output,
    ) -> Option<Mismatch> {
        let (should, does) = (expected.sections(), actual.sections());
        let at = programs.iter().position(|name| should.get(name) != does.get(name));
        let at = at.unwrap_or(programs.len() - 1);
        let section = |sections: &BTreeMap<String, String>| sections.get(&programs[at]).cloned();
        Some(Mismatch {
            program: programs[at].clone(),
            mode: mode.name.clone(),
            expected: Behaviour { end: expected.end, stdout: section(&should).unwrap_or_default() },
            actual: Behaviour { end: actual.end, stdout: section(&does).unwrap_or_default() },
            stderr: actual.stderr.clone(),
            after: programs[..at].to_vec(),
        })
    }

    /// Whether a program alone still behaves differently in the mode; an error on the JDK's own side is none.
    pub fn differs(&self, program: &str, mode: &Mode, classes: &Path) -> io::Result<bool> {
        let only = [program.to_string()];
        let expected = self.run(None, &only, classes)?;
        if expected.end != End::Exit(0) {
            return Ok(false);
        }
        Ok(!self.run(Some(mode), &only, classes)?.same_as(&expected))
    }

    /// Runs programs in one process: on our VM in a mode, or on HotSpot.
    fn run(&self, mode: Option<&Mode>, programs: &[String], classes: &Path) -> io::Result<Output> {
        let mut command = match mode {
            Some(mode) => self.command(mode),
            // Its second compiler would else throw exceptions without message and trace.
            None => {
                let mut java = self.jdk.java();
                java.args(["-XX:-OmitStackTraceInFastThrow", "-XX:+UseSerialGC"]);
                java
            }
        };
        command.arg(format!("-Xmx{}", self.heap)).arg("-cp").arg(classes);
        match programs {
            [program] => command.arg(program),
            _ => command.arg(DRIVER_CLASS).args(programs),
        };
        let scratch = Scratch::new("fuzz-run")?;
        let limit = self.limit * programs.len().max(1) as u32;
        let run = process::run(command, scratch.path(), b"", limit)?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        Ok(Output { end: run.end, stdout: text(&run.stdout), stderr: text(&run.stderr) })
    }

    fn command(&self, mode: &Mode) -> Command {
        let given = |prefix: &str| mode.options.iter().any(|option| option.starts_with(prefix));
        let setting = Setting {
            collector: "serial".into(),
            local_memory: "100%".into(),
            memory_servers: 1,
            options: if given("--gc") { Vec::new() } else { mode.options.clone() },
        };
        let mut command = self.vm.command(&setting, &self.jdk);
        if given("--gc") {
            command.args(&mode.options);
        }
        command
    }

    /// How to repeat a run by hand.
    pub fn command_line(&self, mode: &Mode, programs: &[String]) -> String {
        let command = self.command(mode);
        let words = std::iter::once(command.get_program()).chain(command.get_args());
        let words: Vec<_> = words.map(|word| word.to_string_lossy().into_owned()).collect();
        let driver = if programs.len() > 1 { DRIVER_CLASS } else { "" };
        let words = words.join(" ");
        format!("{words} -Xmx{} -cp classes {driver} {}", self.heap, programs.join(" "))
    }
}

struct Output {
    end: End,
    stdout: String,
    stderr: String,
}

impl Output {
    fn same_as(&self, other: &Output) -> bool {
        self.end == other.end && self.stdout == other.stdout
    }

    fn behaviour(&self) -> Behaviour {
        Behaviour { end: self.end, stdout: self.stdout.clone() }
    }

    /// The output of each program.
    fn sections(&self) -> BTreeMap<String, String> {
        let mut sections = BTreeMap::new();
        let mut name = String::new();
        for line in self.stdout.lines() {
            if let Some(next) = line.strip_prefix(HEADING) {
                name = next.to_string();
            }
            *sections.entry(name.clone()).or_insert_with(String::new) += &format!("{line}\n");
        }
        sections
    }
}

/// The class of [`Judge::write_driver`].
const DRIVER_CLASS: &str = "Batch";

const HEADING: &str = "== ";

const DRIVER: &str = r#"public class Batch {
    public static void main(String[] args) {
        for (String name : args) {
            System.out.println("== " + name);
            try {
                run(name);
            } catch (Throwable e) {
                System.out.println(e);
            }
        }
    }

    private static void run(String name) {
        switch (name) {
CASES
                default -> throw new IllegalArgumentException(name);
        }
    }
}
"#;

#[cfg(test)]
mod tests {
    use super::*;

    fn output(stdout: &str) -> Output {
        Output { end: End::Exit(0), stdout: stdout.into(), stderr: String::new() }
    }

    #[test]
    fn sections_belong_to_programs() {
        let sections = output("== F1\n1\n2\n== F2\n3\n").sections();
        assert_eq!(sections["F1"], "== F1\n1\n2\n");
        assert_eq!(sections["F2"], "== F2\n3\n");
        assert_eq!(sections.len(), 2);
    }

    #[test]
    fn a_summary_shows_the_first_difference() {
        let mismatch = Mismatch {
            program: "F3".into(),
            mode: "xcomp".into(),
            expected: Behaviour { end: End::Exit(0), stdout: "a\nb\nc\n".into() },
            actual: Behaviour { end: End::Signal(11), stdout: "a\nx\n".into() },
            stderr: "oh\n".into(),
            after: vec!["F1".into()],
        };
        let text =
            "F3 in mode xcomp after F1\n  signal 11, expected exit 0\n  - b\n  + x\n  stderr: oh";
        assert_eq!(mismatch.summary(), text);
    }

    #[test]
    fn modes_have_names_or_options() {
        assert_eq!(Mode::parse("xcomp").unwrap().options, ["-Xcomp"]);
        let custom = Mode::parse("zeal=-Xint -XX:GcZeal=500").unwrap();
        assert_eq!(custom.name, "zeal");
        assert_eq!(custom.options, ["-Xint", "-XX:GcZeal=500"]);
        assert!(Mode::parse("other").is_err());
    }
}
