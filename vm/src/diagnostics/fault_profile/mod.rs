//! The fault profile: which lines of the program make pages be fetched (`--fault-profile`).
//!
//! 1. The pager shows a sample of the faults to [`recorder`], in the fault handler: one in N, by each thread's own
//!    count ([`swap::FaultObserver`]). The handler walks the thread's stacks and writes what it finds, methods and
//!    addresses in code, to a slot of the [`ring`]. It takes no lock and allocates nothing.
//! 2. A thread empties the ring a hundred times a second and adds to [`counts`], where a stack that was seen before is
//!    one look at a table. For a new one, [`resolve`] finds classes, methods and lines.
//! 3. Before code or classes are freed, in the pause that frees them, the ring is emptied once more, and what addresses
//!    stood for is forgotten ([`FaultProfile::before_code_goes`]). A sample that is complete then has been read. One
//!    that is being written is of a thread that is not at a safepoint, or whose frames are on its stack: what it names
//!    stays. So no address is resolved after what it named is gone.
//! 4. At the end, and when `jcmd VM.fault_profile` asks, the counts are written as collapsed stacks.
//!
//! Compiled code says at calls only which instruction it belongs to. While there is a profile, bodies have a table for
//! all of their instructions ([`Positions`](crate::runtime::code::positions::Positions)), and the interpreter keeps its
//! program counter in the frame.

mod counts;
mod recorder;
mod resolve;
mod ring;

use crate::frames::interrupted;
use crate::machine::Vm;
use counts::Counts;
use parking_lot::{Mutex, MutexGuard};
use recorder::{Recorder, Root};
use ring::Ring;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The profile of one VM.
pub struct FaultProfile {
    file: PathBuf,
    one_in: u32,
    ring: Arc<Ring>,
    counts: Mutex<Counts>,
    /// Samples that had been begun when the ring was emptied last. Relaxed: the reader's alone.
    seen: AtomicUsize,
}

/// What was written.
pub struct Written {
    /// Faults that the samples stand for, without lost ones.
    pub faults: u64,
    /// Faults of samples that found no room.
    pub lost: u64,
}

impl FaultProfile {
    /// `None` if none is asked for.
    pub fn new(options: &crate::options::Options) -> Option<FaultProfile> {
        Some(FaultProfile {
            file: options.fault_profile.clone()?,
            one_in: options.fault_profile_interval,
            ring: Arc::new(Ring::new()),
            counts: Mutex::default(),
            seen: AtomicUsize::new(0),
        })
    }

    /// The file of the option.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Code or classes are about to be freed: what samples name is found out now. In the pause that frees them.
    pub fn before_code_goes(&self, vm: &Vm) {
        self.count(vm).forget_words();
    }

    /// Writes what has been counted so far; the file is replaced when all of it is written.
    pub fn write(&self, vm: &Vm, file: &Path) -> io::Result<Written> {
        let counts = self.count(vm);
        let (faults, lost) = (counts.faults(), self.ring.lost());
        let text = counts.collapsed(lost);
        drop(counts);
        replace(file, text.as_bytes())?;
        Ok(Written { faults, lost })
    }

    /// Counts all samples that are complete.
    fn count(&self, vm: &Vm) -> MutexGuard<'_, Counts> {
        let mut counts = self.counts.lock();
        self.ring.take(&mut |sample| {
            let root = Root::from_byte(sample.root);
            let words = sample.words;
            counts.add(sample.root, words, sample.weight.into(), || {
                // SAFETY: nothing has been freed since: it would have been counted before.
                let words = words.iter().filter_map(|word| unsafe { interrupted::read(*word) });
                resolve::names(vm, root, words.collect::<Vec<_>>().into_iter())
            });
        });
        counts
    }
}

/// Begins a profile if one is asked for. The error is a message for the command line.
pub fn start(vm: &'static Vm) -> Result<(), String> {
    let Some(profile) = &vm.diagnostics.fault_profile else { return Ok(()) };
    let refused = |error: io::Error| {
        let file = profile.file.display();
        format!("the fault profile cannot be written to {file}: {error}")
    };
    try_to_write(&profile.file).map_err(refused)?;
    let recorder = Arc::new(Recorder(profile.ring.clone()));
    if !vm.heap.observe_faults(profile.one_in, recorder) {
        // All memory is local.
        return Ok(());
    }
    let read = move || {
        while !vm.jvm.exiting.load(Ordering::Relaxed) {
            std::thread::sleep(PERIOD);
            let begun = profile.ring.begun();
            if profile.seen.swap(begun, Ordering::Relaxed) != begun {
                drop(profile.count(vm));
            }
        }
    };
    let spawned = std::thread::Builder::new().name("Fault Profile".into()).spawn(read);
    spawned.map(drop).map_err(|error| format!("no thread for the fault profile: {error}"))
}

/// The VM ends: writes the file. A failure is reported and no more.
pub fn at_exit(vm: &Vm) {
    let Some(profile) = &vm.diagnostics.fault_profile else { return };
    match profile.write(vm, &profile.file) {
        Ok(Written { lost: 0, .. }) => {}
        Ok(Written { faults, lost }) => base::say(format_args!(
            "the fault profile has lost samples of {lost} faults, and has those of {faults}; \
             -XX:FaultProfileInterval sets how many are taken"
        )),
        Err(error) => base::say(format_args!("cannot write {}: {error}", profile.file.display())),
    }
}

/// Whether a file can be written as [`replace`] does it; leaves nothing behind.
fn try_to_write(file: &Path) -> io::Result<()> {
    match fs::metadata(file) {
        Ok(_) => {
            fs::OpenOptions::new().append(true).open(file)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    if is_replaced(file) {
        let part = part_of(file)?;
        fs::File::create(&part)?;
        fs::remove_file(part)?;
    }
    Ok(())
}

/// Writes a file so that nobody sees a part of it.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if !is_replaced(file) {
        return fs::write(file, bytes);
    }
    let part = part_of(file)?;
    let done = fs::write(&part, bytes).and_then(|()| fs::rename(&part, file));
    done.inspect_err(|_| _ = fs::remove_file(&part))
}

/// A pipe or a device is written to, and not replaced; and so is the target of a link.
fn is_replaced(file: &Path) -> bool {
    fs::symlink_metadata(file).map_or(true, |metadata| metadata.is_file())
}

/// The name of a file while it is being written, beside it.
fn part_of(file: &Path) -> io::Result<PathBuf> {
    let name = file.file_name().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut part = name.to_os_string();
    part.push(format!(".{}.part", std::process::id()));
    Ok(file.with_file_name(part))
}

/// How often samples are counted: fast enough that a ring holds those of any program.
const PERIOD: Duration = Duration::from_millis(10);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_refused() {
        let folder = std::env::temp_dir().join(format!("fault-profile-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let file = folder.join("faults.txt");
        try_to_write(&file).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left");
        replace(&file, b"first").unwrap();
        try_to_write(&file).unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"first", "a trial changes nothing");
        replace(&file, b"second").unwrap();
        assert_eq!(fs::read(&file).unwrap(), b"second");
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
        assert!(try_to_write(&folder).is_err(), "a folder");
        assert!(try_to_write(&folder.join("none/faults.txt")).is_err(), "no such folder");
        assert!(try_to_write(Path::new("/dev/null")).is_ok());
        replace(Path::new("/dev/null"), b"gone").unwrap();
        assert!(!fs::metadata("/dev/null").unwrap().is_file(), "a device stays one");
        fs::remove_dir_all(&folder).unwrap();
    }
}
