//! The writers of threads: objects of `jdk.jfr.internal.EventWriter`, which Java code asks for at each event.

use super::Recorder;
use super::buffer::{Buffer, Position};
use crate::ffi::entry;
use crate::ffi::types::jobject;
use crate::java::objects;
use crate::loading::{allocate, call};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, object};
use gc::object::ObjectRef;
use parking_lot::Mutex;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// The part of the recorder that each thread has for itself. Only the thread itself uses it.
#[derive(Default)]
pub struct ThreadRecorder {
    buffer: RefCell<Option<Arc<Buffer>>>,
    /// A global reference to the writer, or 0.
    writer: Cell<usize>,
}

/// The writers of all threads.
#[derive(Default)]
pub struct Writers {
    /// Global references, which are deleted with the lock held.
    all: Mutex<Vec<usize>>,
    offsets: OnceLock<Offsets>,
}

/// Of fields in writers.
struct Offsets {
    start: usize,
    current: usize,
    end: usize,
    committed_at: usize,
    is_valid: usize,
    is_notified: usize,
}

impl Writers {
    /// The thread's writer; null before it has one. No safepoint.
    pub fn current(&self, t: &JavaThread) -> ObjectRef {
        entry::resolve(t, t.recorder.writer.get() as jobject)
    }

    /// Every writer is to empty the table of strings before it commits its next event. No safepoint.
    pub fn notify(&self, t: &JavaThread) {
        let Some(offsets) = self.offsets.get() else { return };
        for writer in self.all.lock().iter() {
            object::put(entry::resolve(t, *writer as jobject), offsets.is_notified, 1i8);
        }
    }

    /// The thread ends: takes its writer and buffer. No safepoint.
    pub fn remove(&self, t: &JavaThread) -> Option<Arc<Buffer>> {
        let writer = t.recorder.writer.replace(0);
        if writer != 0 {
            let mut all = self.all.lock();
            all.retain(|other| *other != writer);
            t.vm.globals.delete(t, writer as jobject);
        }
        t.recorder.buffer.take()
    }
}

impl Recorder {
    /// The writer that the thread gets. A safepoint, and it runs Java code.
    pub(super) fn new_writer(&self, t: &JavaThread) -> JResult<ObjectRef> {
        let _scope = t.scope();
        let class = objects::boot_class(t, "jdk/jfr/internal/EventWriter")?;
        self.writers.offsets.get_or_init(|| Offsets::of(class));
        let buffer = Arc::new(Buffer::new(self.sizes.buffer_bytes.load(Ordering::Relaxed)));
        let Position { start, end, committed_at } = buffer.position();
        let thread = t.thread_object.get();
        let os_thread = t.os_thread.load(Ordering::Relaxed);
        let thread = self.constants.lock().thread(t, thread, os_thread);
        let writer = t.root(allocate::new_instance(t, class)?);
        let is_valid = 1;
        let receiver = writer.get().address() as u64;
        let arguments = [receiver, start, 0, end, 0, committed_at, 0, thread, 0, is_valid];
        t.call(call::find(class, "<init>", "(JJJJZ)V"), &arguments)?;
        // The class library may have made one while it loaded classes.
        if t.recorder.writer.get() == 0 {
            let reference = t.vm.globals.new_strong(t, writer.get()) as usize;
            self.writers.all.lock().push(reference);
            self.buffers.lock().push(Arc::clone(&buffer));
            t.recorder.writer.set(reference);
            t.recorder.buffer.replace(Some(buffer));
        }
        Ok(self.writers.current(t))
    }

    /// The thread's buffer has no room for `requested` bytes behind the `used` ones of the event that is being written,
    /// or has grown for the last event: moves the writer. Whether it is to call again after the event. A safepoint.
    pub(super) fn make_room(
        &self,
        t: &JavaThread,
        writer: Handle,
        used: usize,
        requested: usize,
    ) -> bool {
        let Some(offsets) = self.writers.offsets.get() else { return false };
        let buffer = t.recorder.buffer.borrow().clone();
        let Some(buffer) = buffer.filter(|_| used.saturating_add(requested) <= EVENT_BYTES_MAX)
        else {
            object::put(writer.get(), offsets.is_valid, 0i8);
            return false;
        };
        let bytes = self.sizes.buffer_bytes.load(Ordering::Relaxed);
        let (events, position) = buffer.make_room(used, requested, bytes);
        let object = writer.get();
        object::put(object, offsets.start, position.start);
        object::put(object, offsets.current, position.start + used as u64);
        object::put(object, offsets.end, position.end);
        object::put(object, offsets.committed_at, position.committed_at);
        self.keep(t, events);
        buffer.is_grown(bytes)
    }
}

impl Offsets {
    fn of(class: KlassRef) -> Offsets {
        let offset = |name, descriptor| class.offset_of(name, descriptor);
        Offsets {
            start: offset("startPosition", "J"),
            current: offset("currentPosition", "J"),
            end: offset("maxPosition", "J"),
            committed_at: offset("startPositionAddress", "J"),
            is_valid: offset("valid", "Z"),
            is_notified: offset("notified", "Z"),
        }
    }
}

/// As `EventWriter.MAX_EVENT_SIZE`.
const EVENT_BYTES_MAX: usize = (1 << 28) - 1;
