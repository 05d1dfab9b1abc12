//! Output of a running process. Lines that cannot be written, because the reader has closed its end or a disk is
//! full, must not end a VM, a server or a series of measurements, as it would with `println!` and `eprintln!`.

use std::fmt;
use std::io::{self, Write};

/// Prints a line on stderr. Any thread; may block until the reader has taken it.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// As [`say`], without the end of the line.
pub fn say_part(text: fmt::Arguments<'_>) {
    let _ = write!(io::stderr(), "{text}");
}

/// Prints a line on stdout. Any thread; may block until the reader has taken it.
pub fn print(line: fmt::Arguments<'_>) {
    print_part(format_args!("{line}\n"));
}

/// As [`print()`], without the end of the line; yet it is out when this returns.
pub fn print_part(text: fmt::Arguments<'_>) {
    let mut out = io::stdout().lock();
    let _ = write!(out, "{text}").and_then(|()| out.flush());
}
