//! Writing from a signal handler: no memory is allocated, no lock is taken.

use libc::c_int;
use std::fmt::{self, Write};

/// A file descriptor to write to. Any thread; async-signal-safe; blocks as the descriptor does. What cannot be
/// written is lost.
#[derive(Clone, Copy)]
pub struct Output(pub c_int);

impl Output {
    /// Writes text and the end of the line.
    pub fn line(self, text: fmt::Arguments<'_>) {
        self.put(format_args!("{text}\n"));
    }

    /// Writes text, usually with one system call.
    pub fn put(self, text: fmt::Arguments<'_>) {
        let mut buffer = Buffer { to: self, bytes: [0; 512], used: 0 };
        let _ = buffer.write_fmt(text);
        buffer.flush();
    }

    /// Writes bytes as they are.
    pub fn bytes(self, bytes: &[u8]) {
        let mut rest = bytes;
        while !rest.is_empty() {
            // SAFETY: the slice is valid for its length.
            let written = unsafe { libc::write(self.0, rest.as_ptr().cast(), rest.len()) };
            match usize::try_from(written) {
                Ok(written) if written > 0 => rest = &rest[written..],
                // SAFETY: the thread's errno.
                _ if unsafe { *libc::__errno_location() } == libc::EINTR => {}
                _ => return,
            }
        }
    }
}

struct Buffer {
    to: Output,
    bytes: [u8; 512],
    used: usize,
}

impl Buffer {
    fn flush(&mut self) {
        self.to.bytes(&self.bytes[..self.used]);
        self.used = 0;
    }
}

impl Write for Buffer {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let text = text.as_bytes();
        if text.len() > self.bytes.len() - self.used {
            self.flush();
        }
        if text.len() > self.bytes.len() {
            self.to.bytes(text);
            return Ok(());
        }
        self.bytes[self.used..self.used + text.len()].copy_from_slice(text);
        self.used += text.len();
        Ok(())
    }
}

/// Bytes of which most are ASCII; others are shown as `?`.
pub struct Text<'a>(pub &'a [u8]);

impl fmt::Display for Text<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for chunk in self.0.utf8_chunks() {
            f.write_str(chunk.valid())?;
            if !chunk.invalid().is_empty() {
                f.write_char('?')?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek};
    use std::os::fd::AsRawFd;

    #[test]
    fn short_and_long_pieces_come_out_in_order() {
        let path = std::env::temp_dir().join(format!("crash-output-{}", std::process::id()));
        let mut file = std::fs::File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path)
            .unwrap();
        std::fs::remove_file(&path).unwrap();
        let long = "x".repeat(1000);
        let out = Output(file.as_raw_fd());
        out.line(format_args!("a {} {long} {}", 1, Text(b"b\xffc")));
        out.line(format_args!("{}", 2));
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, format!("a 1 {long} b?c\n2\n"));
    }
}
