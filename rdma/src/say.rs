//! What a process has to say while it goes on.

use std::fmt;
use std::io::{self, Write};

/// Prints a line on stderr. What cannot be said, because nobody listens or a disk is full, must not end a VM or a
/// server, as it would with `eprintln!`. Any thread; may block as long as whoever reads it.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr(), "{line}");
}
