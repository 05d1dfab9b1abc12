//! Where the text goes that options have the VM print when it starts: to stdout, by `-XX:+LogVMOutput` to a file, too,
//! and by `-XX:-DisplayVMOutput` not to stdout.

use crate::options::Options;
use std::fs::OpenOptions;
use std::io::{self, Write};

/// Writes the text. A file that cannot be written is no reason not to start.
pub fn write(options: &Options, text: &str) {
    if text.is_empty() {
        return;
    }
    if options.given("DisplayVMOutput") != Some("false") {
        base::print_part(format_args!("{text}"));
    }
    if options.given("LogVMOutput") == Some("true")
        && let Err(error) = log(options.given("LogFile").unwrap_or(DEFAULT), text)
    {
        base::say(format_args!("OpenJDK 64-Bit Server VM warning: Cannot open log file: {error}"));
    }
}

fn log(file: &str, text: &str) -> io::Result<()> {
    let path = file.replace("%p", &std::process::id().to_string());
    let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(path)?;
    file.write_all(text.as_bytes())
}

/// As in `java`.
const DEFAULT: &str = "hotspot_%p.log";
