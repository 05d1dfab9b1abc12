//! Reading files from a signal handler.

use super::output::Output;
use libc::c_int;
use std::ffi::CStr;
use std::ops::ControlFlow;

/// An open file; closed when dropped.
struct File(c_int);

impl File {
    fn open(path: &CStr) -> Option<File> {
        // SAFETY: the path is a C string.
        let descriptor = unsafe { libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC) };
        (descriptor >= 0).then_some(File(descriptor))
    }

    /// The next bytes; none at the end, and when reading fails.
    fn read<'b>(&self, buffer: &'b mut [u8]) -> &'b [u8] {
        loop {
            // SAFETY: the buffer can be written.
            let read = unsafe { libc::read(self.0, buffer.as_mut_ptr().cast(), buffer.len()) };
            match usize::try_from(read) {
                Ok(read) => return &buffer[..read],
                // SAFETY: the thread's errno.
                Err(_) if unsafe { *libc::__errno_location() } == libc::EINTR => {}
                Err(_) => return &[],
            }
        }
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // SAFETY: `open` has opened it.
        unsafe { libc::close(self.0) };
    }
}

/// Calls `visit` with each line of a file, without its end; longer ones than [`LINE`] bytes are cut. Whether there is
/// such a file. Async-signal-safe.
pub fn for_each_line(path: &CStr, visit: &mut dyn FnMut(&[u8]) -> ControlFlow<()>) -> bool {
    let Some(file) = File::open(path) else { return false };
    let (mut buffer, mut line, mut used) = ([0; 2048], [0; LINE], 0);
    loop {
        let read = file.read(&mut buffer);
        if read.is_empty() {
            break;
        }
        for byte in read {
            if *byte == b'\n' {
                if visit(&line[..used]).is_break() {
                    return true;
                }
                used = 0;
            } else if used < LINE {
                line[used] = *byte;
                used += 1;
            }
        }
    }
    if used > 0 {
        let _ = visit(&line[..used]);
    }
    true
}

/// Copies a file. Async-signal-safe.
pub fn copy(path: &CStr, out: Output) {
    let Some(file) = File::open(path) else {
        out.line(format_args!("<not available>"));
        return;
    };
    let mut buffer = [0; 4096];
    loop {
        let read = file.read(&mut buffer);
        if read.is_empty() {
            return;
        }
        out.bytes(read);
    }
}

const LINE: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;

    #[test]
    fn lines_are_complete() {
        let path = std::env::temp_dir().join(format!("crash-lines-{}", std::process::id()));
        std::fs::write(&path, format!("one\n\n{}\nlast", "x".repeat(3000))).unwrap();
        let name = CString::new(path.to_str().unwrap()).unwrap();
        let mut lengths = Vec::new();
        assert!(for_each_line(&name, &mut |line| {
            lengths.push(line.len());
            ControlFlow::Continue(())
        }));
        std::fs::remove_file(&path).unwrap();
        assert_eq!(lengths, [3, 0, LINE, 4]);
        assert!(!for_each_line(&name, &mut |_| ControlFlow::Continue(())));
    }
}
