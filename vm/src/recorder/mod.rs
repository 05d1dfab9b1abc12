//! The flight recorder: events of programs, of the class library and of the VM, in files.
//!
//! The module `jdk.jfr` of the class library has most of it: recordings, settings, types of events, their descriptions,
//! reading files. It asks the VM for what is below ([`natives`]).
//!
//! 1. Classes of events get their members and the code of their methods when they are loaded ([`classes`], [`schema`]).
//! 2. `createJFR` reads the types that the class library and the VM agree on ([`layout`]). `setOutput` names a file,
//!    and `beginRecording` begins to write it.
//! 3. A thread that commits an event has a [`buffer`], and Java code writes the bytes into it. What the event refers
//!    to by number is in [`constants`]. The VM's own [`events`] are written whole.
//! 4. When a buffer is full its events are moved to the *pending* ones, which go to the file when there are enough.
//!    With no file (a recording in memory) the oldest are dropped.
//! 5. `setOutput` with another file, or none, ends the [`chunk`]: all buffers are emptied, and constants and the
//!    descriptions of types follow.
//!
//! Locks: a session (the chunk) is only locked in the safe state, since its owner writes files. The others are held for
//! moments and never over a safepoint. Order: session, buffers, constants, pending.
//!
//! Java code keeps a table of strings that have a number. When a chunk ends, the table is emptied, and all writers are
//! *notified*: each empties it again before it commits its next event, so strings are named again in the new chunk.

mod buffer;
mod chunk;
pub mod classes;
mod constants;
mod encoding;
mod events;
mod layout;
pub mod natives;
mod schema;
pub mod start;
mod string_table;
mod writers;

pub use writers::ThreadRecorder;

use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, LoaderData};
use base::{now_ns, since_epoch};
use buffer::Buffer;
use chunk::{Chunk, Metadata, Moment};
use classes::{EventClasses, Extended};
use classfile::ClassFile;
use constants::Constants;
use encoding::Encoder;
use events::{Collections, LastCpuTimes, Named, Value};
use gc::object::log::{LogLevel, LogLine};
use layout::Layout;
use parking_lot::{Mutex, RwLock};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use string_table::{Arrivals, StringTable};

/// The flight recorder of a VM. Unless they say otherwise, methods are for running threads, and are no safepoints.
#[derive(Default)]
pub struct Recorder {
    classes: EventClasses,
    layout: OnceLock<Layout>,
    is_created: AtomicBool,
    is_recording: AtomicBool,
    sizes: Sizes,
    /// Of the VM's own events, by number.
    settings: RwLock<FxHashMap<u64, Setting>>,
    session: Mutex<Session>,
    /// Of threads that have written events and have not ended.
    buffers: Mutex<Vec<Arc<Buffer>>>,
    writers: writers::Writers,
    constants: Mutex<Constants>,
    strings: Arrivals,
    pending: Mutex<Pending>,
    /// Threads without events of the VM, by `Thread.tid`.
    excluded: Mutex<FxHashSet<i64>>,
    collections: Collections,
    cpu_times: LastCpuTimes,
}

/// What the class library sets. Relaxed: each value stands for itself.
struct Sizes {
    buffer_bytes: AtomicUsize,
    memory_bytes: AtomicUsize,
    chunk_bytes: AtomicU64,
    stack_depth: AtomicUsize,
    /// Of the chunk that is being written, and when it was begun, ns since 1970.
    written_bytes: AtomicU64,
    chunk_start_ns: AtomicU64,
}

impl Default for Sizes {
    fn default() -> Self {
        Sizes {
            buffer_bytes: AtomicUsize::new(8 << 10),
            memory_bytes: AtomicUsize::new(10 << 20),
            chunk_bytes: AtomicU64::new(12 << 20),
            stack_depth: AtomicUsize::new(64),
            written_bytes: AtomicU64::new(0),
            chunk_start_ns: AtomicU64::new(0),
        }
    }
}

/// How an event of the VM is wanted.
#[derive(Clone, Copy, Default)]
struct Setting {
    is_enabled: bool,
    threshold_ticks: u64,
}

/// What is written, and where to.
#[derive(Default)]
struct Session {
    chunk: Option<Chunk>,
    /// The file of the chunk to begin with.
    next: Option<PathBuf>,
    /// When the present chunk was begun, also without a file.
    start: Option<Moment>,
    last_epoch_ns: u64,
    metadata: Vec<u8>,
    metadata_number: u64,
    /// No chunk follows the present one.
    is_last: bool,
    /// The chunk has its last events, and waits for what they refer to.
    is_ending: bool,
}

/// Events on their way to the file, or of a recording in memory.
#[derive(Default)]
struct Pending {
    blocks: VecDeque<Vec<u8>>,
    bytes: usize,
}

impl Pending {
    fn add(&mut self, events: Vec<u8>) {
        self.bytes += events.len();
        if !events.is_empty() {
            self.blocks.push_back(events);
        }
    }

    fn take(&mut self) -> VecDeque<Vec<u8>> {
        std::mem::take(self).blocks
    }

    /// Drops the oldest events that are more than `bytes`.
    fn cut(&mut self, bytes: usize) {
        while self.bytes > bytes
            && let Some(block) = self.blocks.pop_front()
        {
            self.bytes -= block.len();
        }
    }
}

/// An event of the VM.
pub struct Emitted<'a> {
    pub name: &'static str,
    /// Ticks.
    pub start: u64,
    pub duration: u64,
    /// Numbers of constants, or 0.
    pub thread: u64,
    pub stack_trace: u64,
    pub values: &'a [Named],
}

impl Emitted<'_> {
    /// One that has no duration.
    fn now(name: &'static str) -> Emitted<'static> {
        Emitted { name, start: now_ns(), duration: 0, thread: 0, stack_trace: 0, values: &[] }
    }
}

impl Recorder {
    /// What becomes of a class that is being loaded, and is not hidden; `None`: it stays as it is. A safepoint, and it
    /// runs Java code.
    pub fn extend(
        &self,
        t: &JavaThread,
        loader: &LoaderData,
        file: &mut ClassFile,
        parent: Option<KlassRef>,
        bytes: &[u8],
    ) -> Option<Extended> {
        classes::open_base(file, loader);
        self.classes.extend(t, file, parent?, bytes)
    }

    /// A class was loaded.
    pub fn note_class(&self, klass: KlassRef, extended: Option<Extended>) {
        self.classes.note(klass, extended);
    }

    /// Classes were unloaded. World stopped.
    pub fn forget_unloaded(&self) {
        self.classes.forget_unloaded();
    }

    /// A class is being initialized. A safepoint, and it may run Java code.
    pub fn note_initialization(&self, t: &JavaThread, klass: KlassRef) -> JResult<()> {
        self.classes.register(t, klass)
    }

    /// The number of a class as a type of events. Any thread.
    pub fn type_id(&self, klass: KlassRef) -> u64 {
        self.classes.type_id(klass)
    }

    /// Whether the class library has started the recorder. Any thread.
    pub fn is_created(&self) -> bool {
        self.is_created.load(Ordering::Relaxed)
    }

    /// A thread has begun to run.
    pub fn note_thread_start(&self, t: &JavaThread) {
        self.emit_of_thread(t, "jdk.ThreadStart");
    }

    /// A thread is about to end: its events are kept, and its buffer is not.
    pub fn note_thread_end(&self, t: &JavaThread) {
        self.emit_of_thread(t, "jdk.ThreadEnd");
        if let Some(buffer) = self.writers.remove(t) {
            self.buffers.lock().retain(|other| !Arc::ptr_eq(other, &buffer));
            self.pending.lock().add(buffer.take());
        }
    }

    fn emit_of_thread(&self, t: &JavaThread, name: &'static str) {
        if !self.is_enabled(name) || t.thread_object.get().is_null() || self.is_excluded(t) {
            return;
        }
        let os_thread = t.os_thread.load(Ordering::Relaxed);
        let thread = self.constants.lock().thread(t, t.thread_object.get(), os_thread);
        let values = &[("thread", Value::Number(thread))];
        self.emit(Emitted { thread, values, ..Emitted::now(name) });
    }

    fn is_excluded(&self, t: &JavaThread) -> bool {
        let tid = t.vm.known.fields.thread_tid();
        let number = crate::runtime::object::get::<i64>(t.thread_object.get(), tid);
        self.excluded.lock().contains(&number)
    }

    fn setting(&self, name: &str) -> Setting {
        if !self.is_recording.load(Ordering::Relaxed) {
            return Setting::default();
        }
        let ty = self.layout.get().and_then(|layout| layout.find(name));
        ty.and_then(|ty| self.settings.read().get(&ty.id).copied()).unwrap_or_default()
    }

    /// Whether a recording wants an event of the VM. Any thread.
    fn is_enabled(&self, name: &str) -> bool {
        self.setting(name).is_enabled
    }

    /// Records an event of the VM, if it is wanted. Any thread.
    fn emit(&self, emitted: Emitted<'_>) {
        let setting = self.setting(emitted.name);
        let Some(layout) = self.layout.get() else { return };
        let has_duration = layout.find(emitted.name).is_some_and(|ty| ty.has_duration);
        let is_short = has_duration && emitted.duration < setting.threshold_ticks;
        if setting.is_enabled && !is_short {
            let mut event = Encoder::new();
            events::encode(&mut event, layout, &emitted);
            self.pending.lock().add(event.into_bytes());
        }
    }

    /// Begins a recording, with the file that was named. A safepoint.
    fn begin(&self, t: &JavaThread) {
        self.collections.skip(t);
        self.cpu_times.begin();
        t.safely(|| {
            let mut session = self.session.lock();
            self.buffers.lock().iter().for_each(|buffer| drop(buffer.take()));
            self.pending.lock().take();
            self.constants.lock().next_epoch();
            (session.is_last, session.start) = (false, None);
            self.is_recording.store(true, Ordering::Relaxed);
            session.begin_chunk(self, t);
        });
    }

    /// Ends the recording. A safepoint.
    fn end(&self, t: &JavaThread) -> JResult<()> {
        self.set_output(t, None)?;
        self.is_recording.store(false, Ordering::Relaxed);
        self.pending.lock().take();
        Ok(())
    }

    /// Ends the chunk, and begins one with another file; `None`: in memory. While there is no recording it only names
    /// the file to begin with. A safepoint.
    fn set_output(&self, t: &JavaThread, path: Option<PathBuf>) -> JResult<()> {
        if !self.is_recording.load(Ordering::Relaxed) {
            t.safely(|| self.session.lock().next = path);
            return Ok(());
        }
        // The writer of a new thread is not notified, and its thread may be the first one to look a string up.
        let table = StringTable::find(t)?;
        table.empty(t)?;
        self.collections.emit(t, self);
        self.constants.lock().next_epoch();
        self.writers.notify(t);
        t.safely(|| {
            let mut session = self.session.lock();
            session.is_ending = true;
            if let Some(chunk) = &mut session.chunk {
                self.report(t, self.write_events(chunk));
            }
        });
        let number = table.next_number(t);
        t.safely(|| {
            self.strings.wait_for(number);
            let mut session = self.session.lock();
            (session.next, session.is_ending) = (path, false);
            let had_file = session.chunk.is_some();
            if let Some(chunk) = session.chunk.take() {
                let result = self.finish(&mut session, chunk);
                self.report(t, result);
            }
            // Events in memory become the first ones of the file.
            if had_file {
                session.start = None;
            }
            session.begin_chunk(self, t);
        });
        Ok(())
    }

    /// Writes what there is, so that readers of the file see it. A safepoint.
    fn flush(&self, t: &JavaThread) {
        self.collections.emit(t, self);
        t.safely(|| {
            let mut session = self.session.lock();
            if session.is_ending {
                return;
            }
            let now = session.unique_now();
            let Session { chunk: Some(chunk), metadata, metadata_number, .. } = &mut *session
            else {
                return;
            };
            let metadata = Metadata { number: *metadata_number, description: metadata };
            let result = self.write_events(chunk).and_then(|()| {
                let tables = self.tables();
                chunk.flush(tables.pools, tables.bytes.bytes(), metadata, now)
            });
            self.report(t, result);
        });
    }

    /// Ends a chunk that has its events. The session is locked.
    fn finish(&self, session: &mut Session, chunk: Chunk) -> io::Result<()> {
        let tables = self.tables();
        let now = session.unique_now();
        let metadata = Metadata { number: session.metadata_number, description: &session.metadata };
        chunk.finish(tables.pools, tables.bytes.bytes(), metadata, now, session.is_last)
    }

    fn tables(&self) -> constants::Tables {
        let layout = self.layout.get().expect("recordings begin after it was read");
        self.constants.lock().write(layout)
    }

    /// Empties the buffers into the file. The session is locked.
    fn write_events(&self, chunk: &mut Chunk) -> io::Result<()> {
        let buffers = self.buffers.lock();
        let events: Vec<Vec<u8>> = buffers.iter().map(|buffer| buffer.take()).collect();
        drop(buffers);
        let blocks = {
            let mut pending = self.pending.lock();
            events.into_iter().for_each(|events| pending.add(events));
            pending.take()
        };
        blocks.iter().try_for_each(|block| chunk.append(block))?;
        self.sizes.written_bytes.store(chunk.bytes(), Ordering::Relaxed);
        Ok(())
    }

    /// Keeps events that a thread has written. A safepoint.
    fn keep(&self, t: &JavaThread, events: Vec<u8>) {
        if !self.is_recording.load(Ordering::Relaxed) {
            return;
        }
        let mut pending = self.pending.lock();
        pending.add(events);
        let is_much = pending.bytes > PENDING_BYTES;
        drop(pending);
        if !is_much {
            return;
        }
        t.safely(|| {
            let mut session = self.session.lock();
            let is_ending = session.is_ending;
            match &mut session.chunk {
                Some(_) if is_ending => {}
                Some(chunk) => {
                    let result = self.write_events(chunk);
                    self.report(t, result);
                }
                None => {
                    let bytes = self.sizes.memory_bytes.load(Ordering::Relaxed);
                    self.pending.lock().cut(bytes);
                }
            }
        });
    }

    /// A file that cannot be written: the log says so. Any state.
    fn report(&self, t: &JavaThread, result: io::Result<()>) {
        if let Err(error) = result {
            log(t, LogLevel::Error, &format!("Unable to write the recording: {error}"));
        }
    }
}

/// A line about the recorder itself. Any state.
fn log(t: &JavaThread, level: LogLevel, message: &str) {
    t.vm.options.log.line(LogLine { level, tags: "jfr,system", message });
}

impl Session {
    /// Begins a chunk with the next file, or in memory.
    fn begin_chunk(&mut self, recorder: &Recorder, t: &JavaThread) {
        let start = match self.start {
            Some(start) => start,
            None => Moment { epoch_ns: self.unique_now(), ticks: now_ns() },
        };
        self.start = Some(start);
        recorder.sizes.chunk_start_ns.store(start.epoch_ns, Ordering::Relaxed);
        recorder.sizes.written_bytes.store(0, Ordering::Relaxed);
        if let Some(path) = self.next.take() {
            recorder.constants.lock().begin_chunk();
            match Chunk::create(Path::new(&path), start) {
                Ok(chunk) => self.chunk = Some(chunk),
                Err(error) => recorder.report(t, Err(error)),
            }
        }
    }

    /// Later than any moment that was given before, ns since 1970.
    fn unique_now(&mut self) -> u64 {
        let now = since_epoch().as_nanos() as u64;
        self.last_epoch_ns = now.max(self.last_epoch_ns + 1);
        self.last_epoch_ns
    }
}

/// Pending events that are written when a thread finds more of them.
const PENDING_BYTES: usize = 512 << 10;

/// Names of types.
const CLASS: &str = "java.lang.Class";
const STRING: &str = "java.lang.String";
const THREAD: &str = "java.lang.Thread";
