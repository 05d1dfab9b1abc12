//! Diagnostic commands, as `jcmd` and the bean `DiagnosticCommand` run them: one table of names, parameters and
//! functions.
//!
//! A command is a line: the name, then options (`-all`, `name=value`) and arguments in any order, between spaces.

mod agent;
mod arguments;
mod heap;
mod machine;
mod recorder;

pub use arguments::{Arguments, Kind, Parameter};

use crate::loading::errors::describe;
use crate::machine::JavaThread;
use crate::runtime::Throw;
use std::fmt::Write;

/// One diagnostic command.
pub struct Command {
    pub name: &'static str,
    pub description: &'static str,
    /// How much it disturbs the program, in words.
    pub impact: &'static str,
    pub parameters: &'static [Parameter],
    /// Appends to the output. On a Java thread; a safepoint, and it may run Java code.
    run: Run,
}

type Run = fn(&JavaThread, &Arguments, &mut String) -> Result<(), Failure>;

/// Why a command was not done.
pub enum Failure {
    /// The command or its arguments are wrong: the message of an `IllegalArgumentException`.
    Refused(String),
    /// It cannot be done: the last line of the output.
    Failed(String),
    /// Java code has thrown.
    Thrown(Throw),
}

impl Failure {
    /// For the person at the tool. Takes a pending exception out.
    pub fn text(self, t: &JavaThread) -> String {
        match self {
            Failure::Refused(message) => {
                format!("java.lang.IllegalArgumentException: {message}\n")
            }
            Failure::Failed(message) => message,
            Failure::Thrown(thrown) => describe(t, thrown) + "\n",
        }
    }
}

impl From<String> for Failure {
    fn from(message: String) -> Failure {
        Failure::Failed(message)
    }
}

impl From<Throw> for Failure {
    fn from(thrown: Throw) -> Failure {
        Failure::Thrown(thrown)
    }
}

/// All commands, in the order of `help`.
pub fn all() -> impl Iterator<Item = &'static Command> {
    let tables = [agent::COMMANDS, heap::COMMANDS, machine::COMMANDS, recorder::COMMANDS];
    tables.into_iter().flatten().chain([&HELP])
}

pub fn find(name: &str) -> Option<&'static Command> {
    all().find(|command| command.name == name)
}

/// Runs the commands of some lines, up to `stop`. A safepoint.
pub fn execute(t: &JavaThread, lines: &str, out: &mut String) -> Result<(), Failure> {
    for line in lines.lines().map(str::trim) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line == "stop" {
            break;
        }
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let Some(command) = find(name) else {
            return Err(Failure::Refused("Unknown diagnostic command".into()));
        };
        let arguments = Arguments::parse(command.parameters, rest).map_err(Failure::Refused)?;
        (command.run)(t, &arguments, out)?;
    }
    Ok(())
}

static HELP: Command = Command {
    name: "help",
    description: "For more information about a specific command use 'help <command>'. With no argument this will \
                  show a list of available commands. 'help all' will show help for all commands.",
    impact: "Low",
    parameters: &[
        Parameter {
            name: "-all",
            description: "Show help for all commands",
            kind: Kind::Switch,
            default: Some("false"),
            is_mandatory: false,
        },
        Parameter {
            name: "command name",
            description: "The name of the command for which we want help",
            kind: Kind::Argument,
            default: None,
            is_mandatory: false,
        },
    ],
    run: help,
};

fn help(_t: &JavaThread, arguments: &Arguments, out: &mut String) -> Result<(), Failure> {
    if arguments.is_on("-all") {
        for command in all() {
            let _ = writeln!(out, "{}\n\t{}\n", command.name, command.description);
        }
        return Ok(());
    }
    match arguments.text("command name") {
        None => {
            out.push_str("The following commands are available:\n");
            all().for_each(|command| {
                let _ = writeln!(out, "{}", command.name);
            });
            out.push_str("\nFor more information about a specific command use 'help <command>'.\n");
        }
        Some(name) => match find(name) {
            Some(command) => command.write_help(out),
            None => {
                let _ = writeln!(out, "Help unavailable : '{name}' : No such command");
            }
        },
    }
    Ok(())
}

impl Command {
    fn write_help(&self, out: &mut String) {
        let (name, description, impact) = (self.name, self.description, self.impact);
        let _ = writeln!(out, "{name}\n{description}\n\nImpact: {impact}\n");
        let (options, arguments): (Vec<&Parameter>, Vec<&Parameter>) =
            self.parameters.iter().partition(|parameter| parameter.kind != Kind::Argument);
        let _ = write!(out, "Syntax : {name}");
        if !options.is_empty() {
            out.push_str(" [options]");
        }
        for argument in &arguments {
            let name = argument.name;
            let _ = match argument.is_mandatory {
                true => write!(out, " <{name}>"),
                false => write!(out, " [<{name}>]"),
            };
        }
        out.push('\n');
        for (title, parameters) in [
            ("Arguments:", arguments),
            (
                "Options: (options must be \
            specified using the <key> or <key>=<value> syntax)",
                options,
            ),
        ] {
            if parameters.is_empty() {
                continue;
            }
            let _ = writeln!(out, "\n{title}");
            for Parameter { name, description, kind, default, is_mandatory } in parameters {
                let optional = if *is_mandatory { "" } else { "[optional] " };
                let kind = kind.type_name();
                let default = default.map_or("no default value".into(), |text| text.to_string());
                let _ = writeln!(out, "\t{name} : {optional}{description} ({kind}, {default})");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn commands_have_names_of_their_own() {
        let names: Vec<&str> = all().map(|command| command.name).collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "{names:?}");
        assert!(names.iter().all(|name| find(name).is_some_and(|found| found.name == *name)));
        assert!(find("Thread").is_none());
    }

    #[test]
    fn help_names_every_parameter() {
        for command in all() {
            let mut text = String::new();
            command.write_help(&mut text);
            for parameter in command.parameters {
                assert!(text.contains(&format!("\t{} : ", parameter.name)), "{text}");
            }
        }
    }
}
