//! The end of the process when far memory is lost.

use std::fmt::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Prints `farheap: ` and the reason as one line on stderr and ends the process with exit code 1, without running
/// anything else. Async-signal-safe. Only the first of several threads prints.
///
/// There is no way back from a fault without its page, and a thread that stays in one for ever would
/// hang the VM. The services of a VM use it for lost servers too, so that there is one line no
/// matter which thread notices first.
pub fn die(reason: fmt::Arguments<'_>) -> ! {
    while DYING.swap(true, Ordering::Relaxed) {
        // SAFETY: no memory is involved. The first one is about to end the process.
        unsafe { libc::sleep(1) };
    }
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

/// Set by the first one to die.
static DYING: AtomicBool = AtomicBool::new(false);

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
