//! `java.lang.StackWalker`: frames in batches.
//!
//! `callStackWalk` opens a stream over the frames below it, fills the first batch into an array and calls back
//! into Java (`doStackWalk`), which may fetch more batches by the stream's anchor while that call lasts. The
//! frames stay where they are meanwhile, because the thread is above them.

use super::stack_traces::frame_info_offsets;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jint, jlong, jobject, jobjectArray};
use crate::frames::walk::{self, Visited};
use crate::invoke::member_name::{self, Dispatch};
use crate::loading::{call, errors, messages};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, MethodRef, object};
use gc::object::ObjectRef;
use std::cell::RefCell;

#[unsafe(no_mangle)]
extern "C" fn JVM_CallStackWalk(
    env: Env,
    stream: jobject,
    mode: jlong,
    skip: jint,
    batch: jint,
    start: jint,
    frames: jobjectArray,
) -> jobject {
    env.enter(|t| {
        let walker = entry::non_null(t, stream)?;
        let Some(frames) = checked_frames(t, frames)? else {
            return errors::fail(t, "java/lang/NullPointerException", "frames_array is NULL");
        };
        let mut frames_below = walk::frames(t)
            .skip_while(|v| is_walker(v.method()))
            .skip(usize::try_from(skip).unwrap_or(0));
        let current = frames_below.next();
        let mut stream = Stream { frames: Box::new(frames_below), current };
        let filled = stream.fill(t, mode, batch, start, frames)?;
        if filled < 1 {
            return errors::fail(t, "java/lang/InternalError", "stack walk: decode failed");
        }
        let anchor = Anchor::open(&mut stream);
        let klass = t.klass_of(walker.get());
        let method = call::find(klass, "doStackWalk", "(JIIII)Ljava/lang/Object;");
        let arguments = [
            walker.get().address() as u64,
            anchor.0 as u64,
            0,
            skip as i64 as u64,
            batch as i64 as u64,
            start as i64 as u64,
            (start + filled) as i64 as u64,
        ];
        let result = t.call(method, &arguments)?;
        Ok(ObjectRef::from_address(result as usize))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_MoreStackWalk(
    env: Env,
    _stream: jobject,
    mode: jlong,
    anchor: jlong,
    batch: jint,
    start: jint,
    frames: jobjectArray,
) -> jint {
    env.enter(|t| {
        let Some(frames) = checked_frames(t, frames)? else {
            return errors::fail(t, "java/lang/NullPointerException", "frames_array is NULL");
        };
        let Some(stream) = Anchor::find(anchor as usize) else {
            return errors::fail(t, "java/lang/InternalError", "doStackWalk: corrupted buffers");
        };
        // The last frame of the batch before has been filled in.
        stream.current = stream.frames.next();
        if stream.current.is_none() {
            return Ok(start);
        }
        let filled = stream.fill(t, mode, batch, start, frames)?;
        if filled < 1 {
            return errors::fail(t, "java/lang/InternalError", "doStackWalk: later decode failed");
        }
        Ok(start + filled)
    })
}

/// An open walk. Own thread, while the `callStackWalk` that made it lasts.
struct Stream<'t> {
    frames: Box<dyn Iterator<Item = Visited<'t>> + 't>,
    current: Option<Visited<'t>>,
}

impl Stream<'_> {
    /// Fills at most `batch` visible frames from the current one on into the array, from index `start`.
    /// Returns how many; the last one stays the current one. A safepoint.
    fn fill(
        &mut self,
        t: &JavaThread,
        mode: i64,
        batch: i32,
        start: i32,
        array: Handle,
    ) -> JResult<i32> {
        let is_asked = mode & SHOW_HIDDEN_FRAMES != 0 && mode & GET_CALLER_CLASS == 0;
        let hides = !is_asked && !t.vm.options.shows_hidden_frames;
        let mut filled = 0;
        while filled < batch {
            let Some(visited) = self.current else {
                break;
            };
            let method = visited.method();
            if !(hides && method.is_hidden()) {
                let index = start + filled;
                if mode & GET_CALLER_CLASS != 0 && filled == 0 && method.is_caller_sensitive() {
                    return called_from_sensitive(t, method);
                }
                if index < 0 || index as usize >= array.get().array_length() {
                    let message = "the frame buffer is too small";
                    return errors::fail(t, "java/lang/InternalError", message);
                }
                fill_one(t, mode, &visited, array, index as usize)?;
                filled += 1;
                if filled == batch {
                    break;
                }
            }
            self.current = self.frames.next();
        }
        Ok(filled)
    }
}

fn called_from_sensitive<T>(t: &JavaThread, method: MethodRef) -> JResult<T> {
    let message = format!(
        "StackWalker::getCallerClass called from @CallerSensitive {} method",
        messages::of_method(method)
    );
    errors::fail(t, "java/lang/UnsupportedOperationException", &message)
}

fn fill_one(
    t: &JavaThread,
    mode: i64,
    visited: &Visited<'_>,
    array: Handle,
    index: usize,
) -> JResult<()> {
    let method = visited.method();
    if mode & CLASS_REFS_ONLY != 0 {
        t.store_element(array.get(), index, t.mirror(method.holder));
        return Ok(());
    }
    if mode & LIVE_FRAMES != 0 {
        let message = "live stack frames";
        return errors::fail(t, "java/lang/UnsupportedOperationException", message);
    }
    let _scope = t.scope();
    let info = t.root(t.load_element(array.get(), index));
    let (member_at, bci_at) = frame_info_offsets(t);
    let member = t.root(t.load_ref(info.get(), member_at));
    let dispatch = Dispatch::of(method, method.holder);
    member_name::set_method(t, member, method, dispatch, method.holder)?;
    object::put(info.get(), bci_at, visited.bci().map_or(-1, i32::from));
    Ok(())
}

/// Methods of the stack walker itself.
fn is_walker(method: MethodRef) -> bool {
    let is_one = |name: &[u8]| {
        name == b"java/lang/StackWalker"
            || name == b"java/lang/StackStreamFactory$AbstractStackWalker"
    };
    let holder = method.holder;
    holder.loader.is_boot()
        && (is_one(holder.name.bytes())
            || holder.super_klass.is_some_and(|parent| is_one(parent.name.bytes())))
}

fn checked_frames(t: &JavaThread, frames: jobjectArray) -> JResult<Option<Handle>> {
    let frames = entry::handle(t, frames);
    if frames.is_null() {
        return Ok(None);
    }
    if t.klass_of(frames.get()).component().is_none() {
        let message = "not an array of stack frames";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    Ok(Some(frames))
}

/// Java code's reference to an open stream: its address, good until dropped.
struct Anchor(usize);

impl Anchor {
    fn open(stream: &mut Stream<'_>) -> Anchor {
        let address = std::ptr::from_mut(stream) as usize;
        OPEN.with_borrow_mut(|open| open.push(address));
        Anchor(address)
    }

    fn find<'a>(address: usize) -> Option<&'a mut Stream<'a>> {
        let is_open = OPEN.with_borrow(|open| open.contains(&address));
        // SAFETY: open streams are alive; the call that owns one is in an outer frame of this thread and does
        // not touch it while it waits for `doStackWalk`.
        is_open.then(|| unsafe { &mut *(address as *mut Stream<'a>) })
    }
}

impl Drop for Anchor {
    fn drop(&mut self) {
        OPEN.with_borrow_mut(|open| open.retain(|address| *address != self.0));
    }
}

thread_local! {
    /// Streams whose `doStackWalk` is running on this thread.
    static OPEN: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// Modes of `StackStreamFactory`.
const CLASS_REFS_ONLY: i64 = 0x2;
const GET_CALLER_CLASS: i64 = 0x4;
const SHOW_HIDDEN_FRAMES: i64 = 0x20;
const LIVE_FRAMES: i64 = 0x100;
