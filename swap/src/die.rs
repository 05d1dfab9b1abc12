//! The end of the process when a page cannot be served.

use std::fmt::{self, Write};

/// Prints one line to stderr and ends the process with exit code 1. Async-signal-safe.
///
/// There is no way back from a fault without its page, and a thread that stays in one for ever would hang the VM.
pub fn die(reason: fmt::Arguments<'_>) -> ! {
    let mut line = Line { bytes: [0; 400], length: 0 };
    // A line that is too long is cut.
    let _ = line.write_str("farheap: ");
    let _ = line.write_fmt(reason);
    line.bytes[line.length] = b'\n';
    // SAFETY: the buffer is valid for its whole length; both calls are async-signal-safe.
    unsafe {
        libc::write(2, line.bytes.as_ptr().cast(), line.length + 1);
        libc::_exit(1)
    }
}

struct Line {
    bytes: [u8; 400],
    length: usize,
}

impl Write for Line {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // The last byte is kept for the end of the line.
        let room = self.bytes.len() - 1 - self.length;
        let taken = text.len().min(room);
        self.bytes[self.length..self.length + taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.length += taken;
        if taken < text.len() { Err(fmt::Error) } else { Ok(()) }
    }
}
