//! `JFR.*`: recordings of the flight recorder. The class library reads their arguments.

use super::{Arguments, Command, Failure, Kind, Parameter};
use crate::machine::JavaThread;
use crate::recorder::start::{self, Source};

pub const COMMANDS: &[Command] = &[
    Command {
        name: "JFR.check",
        description: "Checks running JFR recording(s)",
        impact: "Low",
        parameters: ARGUMENTS,
        run: |t, arguments, out| run(t, "DCmdCheck", arguments, out),
    },
    Command {
        name: "JFR.dump",
        description: "Copies contents of a JFR recording to file. Either the name or the recording id must be \
                      specified.",
        impact: "Low",
        parameters: ARGUMENTS,
        run: |t, arguments, out| run(t, "DCmdDump", arguments, out),
    },
    Command {
        name: "JFR.start",
        description: "Starts a new JFR recording",
        impact: "Medium: Depending on the settings for a recording, the impact can range from low to high.",
        parameters: ARGUMENTS,
        run: |t, arguments, out| run(t, "DCmdStart", arguments, out),
    },
    Command {
        name: "JFR.stop",
        description: "Stops a JFR recording",
        impact: "Low",
        parameters: ARGUMENTS,
        run: |t, arguments, out| run(t, "DCmdStop", arguments, out),
    },
];

const ARGUMENTS: &[Parameter] = &[Parameter {
    name: "arguments",
    description: "name=value, as for the command of HotSpot",
    kind: Kind::Rest,
    default: None,
    is_mandatory: false,
}];

fn run(
    t: &JavaThread,
    class: &str,
    arguments: &Arguments,
    out: &mut String,
) -> Result<(), Failure> {
    if start::is_disabled(t) {
        *out += &format!("{}\n", start::DISABLED);
        return Ok(());
    }
    let arguments = arguments.text("arguments").unwrap_or_default();
    match start::run(t, class, arguments, Source::Tool) {
        Ok(lines) => lines.iter().for_each(|line| *out += &format!("{line}\n")),
        // What is wrong with the arguments is the answer, as under HotSpot.
        Err(thrown) => *out += &format!("{}\n", start::message(t, thrown)),
    }
    Ok(())
}
