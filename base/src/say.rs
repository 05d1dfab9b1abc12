//! Output of a running process. Lines that cannot be written, because the reader has closed its end or a disk is
//! full, must not end a VM, a server or a series of measurements, as it would with `println!` and `eprintln!`.

use std::fmt;
use std::io::{self, Write};

/// Prints a line on stderr, whole: no other line comes into its middle. Any thread; may block until the reader has
/// taken it.
pub fn say(line: fmt::Arguments<'_>) {
    say_part(format_args!("{line}\n"));
}

/// As [`say`], without the end of the line.
pub fn say_part(text: fmt::Arguments<'_>) {
    write_whole(&mut io::stderr(), text);
}

/// One write for all of the text. What [`die`](crate::die()) writes is not under the lock of `stderr`, which is written
/// piece by piece otherwise.
fn write_whole(out: &mut dyn Write, text: fmt::Arguments<'_>) {
    let _ = out.write_all(text.to_string().as_bytes());
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_at_once() {
        struct Writes(Vec<Vec<u8>>);
        impl Write for Writes {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0.push(bytes.to_vec());
                Ok(bytes.len())
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut writes = Writes(Vec::new());
        write_whole(&mut writes, format_args!("{} and {}\n", 1, "two"));
        assert_eq!(writes.0, [b"1 and two\n".to_vec()]);
    }
}
