//! Heap dumps in the format HPROF 1.0.2, which Eclipse MAT, VisualVM and others read.
//!
//! The dump has every class, the reachable objects, and the roots. It is written in the pause of an inspection
//! ([`gc::core::inspection`]) while the heap is walked, with a buffer of a megabyte: its size does not matter for the
//! memory that the VM needs. Where the collector has a snapshot of the heap, only classes, threads and roots are
//! written in the pause, and the objects beside the program.

mod dumper;
mod gzip_blocks;
mod records;

use crate::machine::JavaThread;
use dumper::Dumper;
use gc::core::outcome::CollectCause;
use gzip_blocks::GzipBlocks;
use parking_lot::{Condvar, Mutex};
use records::Records;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// A heap dump that is wanted.
pub struct Request<'a> {
    pub path: &'a Path,
    /// 0: not compressed. To 9.
    pub gzip_level: u32,
    /// Whether the file may exist before.
    pub may_overwrite: bool,
}

/// A dump that was written.
pub struct Written {
    pub bytes: u64,
    pub time: Duration,
}

/// Writes a heap dump. Runs a full cycle, which is a safepoint, and stops the world while the file is written. A file
/// that could not be written to its end stays, as far as it was.
pub fn write(t: &JavaThread, request: &Request<'_>) -> io::Result<Written> {
    let started = Instant::now();
    let _writing = t.vm.diagnostics.heap_dumps.begin();
    let file = create(request)?;
    let out: Box<dyn Write + Send> = match request.gzip_level {
        0 => Box::new(file.try_clone()?),
        level => Box::new(GzipBlocks::new(file.try_clone()?, level)),
    };
    let dumper = Dumper::new(t.vm, Records::new(out), unnamed_file(request.path));
    let dumper = t.vm.heap.inspect(&t.mutator, CollectCause::HeapDump, dumper);
    let dumper = dumper.ok_or_else(|| io::Error::other("the VM is about to end"))?;
    t.safely(|| dumper.finish())?;
    Ok(Written { bytes: file.metadata()?.len(), time: started.elapsed() })
}

/// Only the user can read it: it has everything that the program knows.
fn create(request: &Request<'_>) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    match request.may_overwrite {
        true => options.create(true).truncate(true),
        false => options.create_new(true),
    };
    options.open(request.path)
}

/// A file without a name, beside the dump: for what the program overwrites before it is in the dump. `None`: the file
/// system has no such files, so the dump is written in the pause.
fn unnamed_file(dump: &Path) -> Option<File> {
    let folder = dump.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600).custom_flags(libc::O_TMPFILE);
    options.open(folder.unwrap_or(Path::new("."))).ok()
}

/// Writes a heap dump and says how it went, in the words of HotSpot.
pub fn write_and_report(t: &JavaThread, request: &Request<'_>) -> String {
    let path = request.path.display();
    let result = match write(t, request) {
        Ok(Written { bytes, time }) => {
            let secs = time.as_secs_f64();
            format!("Heap dump file created [{bytes} bytes in {secs:.3} secs]")
        }
        Err(error) => format!("Unable to create {path}: {}", reason(&error)),
    };
    format!("Dumping heap to {path} ...\n{result}\n")
}

/// The system's words, without the number that Rust adds.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" (os error").map_or(text.clone(), |(words, _)| words.to_string())
}

/// Reads the level of compression of a request: 1 to 9.
pub fn parse_gzip_level(text: &str) -> Result<u32, String> {
    let level = text.parse().ok().filter(|level| (1..=9).contains(level));
    level.ok_or_else(|| format!("Compression level out of range (1-9): {text}\n"))
}

/// The heap dumps of one VM. Any thread.
#[derive(Default)]
pub struct HeapDumps {
    /// The one that the first `OutOfMemoryError` causes is written, or being written.
    has_automatic: AtomicBool,
    /// How many are being written.
    writing: Mutex<usize>,
    written: Condvar,
}

impl HeapDumps {
    /// Waits until no dump is being written: a process that is about to end waits for them, as in HotSpot, where they
    /// are written in pauses. By a thread in the safe state.
    pub fn wait_until_written(&self) {
        let mut writing = self.writing.lock();
        while *writing > 0 {
            self.written.wait(&mut writing);
        }
    }

    fn begin(&self) -> Writing<'_> {
        *self.writing.lock() += 1;
        Writing(self)
    }
}

/// A dump is being written.
struct Writing<'a>(&'a HeapDumps);

impl Drop for Writing<'_> {
    fn drop(&mut self) {
        *self.0.writing.lock() -= 1;
        self.0.written.notify_all();
    }
}

/// An `OutOfMemoryError` with this message is about to be made: writes a dump if options ask for one, and it is the
/// first. A safepoint.
pub fn on_out_of_memory(t: &JavaThread, message: &str) {
    let diagnostics = &t.vm.diagnostics;
    let options = diagnostics.options.manageable();
    if !options.dump_heap_on_out_of_memory
        || diagnostics.heap_dumps.has_automatic.swap(true, Ordering::Relaxed)
    {
        return;
    }
    let gzip_level = options.heap_dump_gzip_level;
    let path = automatic_path(options.heap_dump_path.as_deref(), gzip_level, std::process::id());
    base::print(format_args!("java.lang.OutOfMemoryError: {message}"));
    let request = Request { path: &path, gzip_level, may_overwrite: false };
    base::print_part(format_args!("{}", write_and_report(t, &request)));
}

/// Where the dump goes: to the file of the option, or into its folder, or into the working folder.
fn automatic_path(option: Option<&Path>, gzip_level: u32, process: u32) -> PathBuf {
    let suffix = if gzip_level > 0 { ".gz" } else { "" };
    let name = format!("java_pid{process}.hprof{suffix}");
    match option.filter(|path| !path.as_os_str().is_empty()) {
        None => name.into(),
        Some(folder) if folder.is_dir() => folder.join(name),
        Some(file) => file.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_automatic_dump_has_a_place_for_every_option() {
        let path = |option: Option<&str>, level| {
            automatic_path(option.map(Path::new), level, 7).display().to_string()
        };
        assert_eq!(path(None, 0), "java_pid7.hprof");
        assert_eq!(path(Some(""), 1), "java_pid7.hprof.gz");
        assert_eq!(path(Some("/"), 0), "/java_pid7.hprof");
        assert_eq!(path(Some("/no/such/x.hprof"), 0), "/no/such/x.hprof");
    }

    #[test]
    fn levels_are_between_1_and_9() {
        assert!((1..=9).all(|level| parse_gzip_level(&level.to_string()).ok() == Some(level)));
        assert!(["0", "10", "x", ""].iter().all(|text| parse_gzip_level(text).is_err()));
    }
}
