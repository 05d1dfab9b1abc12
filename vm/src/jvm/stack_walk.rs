//! `StackWalker`: frames are handed to Java in batches, while Java code that was called from the walk decides
//! how far it goes.
//!
//! The walk's state lies on the native stack of [`JVM_CallStackWalk`]; Java passes its address (the anchor)
//! back for the next batch. The thread keeps a list of the walks that run, so a stale anchor is noticed.

use super::stack_traces::{do_stack_walk, frame_info_offset};
use crate::interpreter;
use crate::interpreter::walk::{self, Visited};
use crate::invoke::member_name::{self, Dispatch};
use crate::jni::entry::{self, Env};
use crate::jni::types::{jint, jlong, jobject, jobjectArray};
use crate::loading::errors;
use crate::runtime::{Handle, JResult, JavaThread, MethodRef, object};
use gc::object::ObjectRef;
use std::cell::RefCell;

/// Starts a walk: skips the walker's own frames and `skip` more, fetches the first batch into `frames` from
/// `start` on, and calls `doStackWalk`, whose result it returns.
#[unsafe(no_mangle)]
extern "C" fn JVM_CallStackWalk(
    env: Env,
    stream: jobject,
    mode: jlong,
    skip: jint,
    count: jint,
    start: jint,
    frames: jobjectArray,
) -> jobject {
    env.enter(|t| {
        let (stream, frames) = (entry::handle(t, stream), entry::handle(t, frames));
        let visited = walk::frames(t).skip_while(|frame| is_walker(frame.method()));
        let mut walk = Walk { frames: Box::new(visited.skip(skip.max(0) as usize)) };
        let end = walk.fetch(t, mode, count, start, frames)?;
        if end == start {
            return errors::fail(t, "java/lang/InternalError", "stack walk: decode failed");
        }
        let anchor = std::ptr::from_mut(&mut walk) as usize;
        let _running = Running::enter(anchor);
        let method = do_stack_walk(t.klass_of(stream.get()));
        let arguments = [
            stream.get().address() as u64,
            anchor as u64,
            0,
            skip as u64,
            count as u64,
            start as u64,
            end as u64,
        ];
        let result = interpreter::call(t, method, &arguments)?;
        Ok(ObjectRef::from_address(result as usize))
    })
}

/// Fetches the next batch of a walk; returns the index behind the last frame.
#[unsafe(no_mangle)]
extern "C" fn JVM_MoreStackWalk(
    env: Env,
    _stream: jobject,
    mode: jlong,
    anchor: jlong,
    count: jint,
    start: jint,
    frames: jobjectArray,
) -> jint {
    env.enter(|t| {
        let frames = entry::handle(t, frames);
        let anchor = anchor as usize;
        if !RUNNING.with_borrow(|walks| walks.contains(&anchor)) {
            return errors::fail(t, "java/lang/InternalError", "doStackWalk: corrupted buffers");
        }
        // SAFETY: the anchor is in the list of this thread's running walks, so the walk is alive; its own
        // function is waiting for Java code and does not touch it.
        let walk = unsafe { &mut *(anchor as *mut Walk<'_>) };
        walk.fetch(t, mode, count, start, frames)
    })
}

/// A walk that has gone so far.
struct Walk<'t> {
    frames: Box<dyn Iterator<Item = Visited<'t>> + 't>,
}

impl Walk<'_> {
    /// Fills up to `count` elements from `start` on; returns the index behind the last.
    fn fetch(
        &mut self,
        t: &JavaThread,
        mode: jlong,
        count: jint,
        start: jint,
        buffer: Handle,
    ) -> JResult<jint> {
        let mut index = start;
        while index < start + count {
            let Some(frame) = self.frames.next() else {
                break;
            };
            let method = frame.method();
            if mode & SHOW_HIDDEN_FRAMES == 0 && method.is_hidden() {
                continue;
            }
            let asks_for_caller = mode & CLASSES_ONLY != 0 && mode & GET_CALLER_CLASS != 0;
            if asks_for_caller && index == start && method.is_caller_sensitive() {
                return Err(unsupported(t, method));
            }
            let _scope = t.scope();
            self.fill(t, mode, frame, index as usize, buffer)?;
            index += 1;
        }
        Ok(index)
    }

    fn fill(
        &self,
        t: &JavaThread,
        mode: jlong,
        frame: Visited<'_>,
        index: usize,
        buffer: Handle,
    ) -> JResult<()> {
        let method = frame.method();
        if mode & CLASSES_ONLY != 0 {
            t.store_element(buffer.get(), index, t.mirror(method.holder));
            return Ok(());
        }
        if mode & LIVE_FRAMES != 0 {
            let message = "live stack frames are not supported";
            return errors::fail(t, "java/lang/UnsupportedOperationException", message);
        }
        let info = t.root(t.load_element(buffer.get(), index));
        let bci = frame.bci().map_or(-1, i32::from);
        object::put(info.get(), frame_info_offset(t, "bci", "I"), bci);
        let member_at = frame_info_offset(t, "memberName", "Ljava/lang/Object;");
        let member = t.root(t.load_ref(info.get(), member_at));
        member_name::set_method(t, member, method, Dispatch::Direct, method.holder)
    }
}

/// Frames of the walker itself.
fn is_walker(method: MethodRef) -> bool {
    let names = |name: &[u8]| matches!(name, STACK_WALKER | ABSTRACT_WALKER);
    let holder = method.holder;
    names(holder.name.bytes())
        || holder.super_klass.is_some_and(|parent| parent.name.bytes() == ABSTRACT_WALKER)
}

fn unsupported(t: &JavaThread, method: MethodRef) -> crate::runtime::Throw {
    let text = format!("{}.{}", method.holder.java_name(), method.name());
    let message =
        format!("StackWalker::getCallerClass called from @CallerSensitive '{text}' method");
    errors::throw_new(t, "java/lang/UnsupportedOperationException", Some(&message))
}

thread_local! {
    static RUNNING: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// An entry of the list of running walks.
struct Running;

impl Running {
    fn enter(anchor: usize) -> Running {
        RUNNING.with_borrow_mut(|walks| walks.push(anchor));
        Running
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        RUNNING.with_borrow_mut(|walks| walks.pop());
    }
}

const CLASSES_ONLY: jlong = 0x2;
const GET_CALLER_CLASS: jlong = 0x4;
const SHOW_HIDDEN_FRAMES: jlong = 0x20;
const LIVE_FRAMES: jlong = 0x100;
const STACK_WALKER: &[u8] = b"java/lang/StackWalker";
const ABSTRACT_WALKER: &[u8] = b"java/lang/StackStreamFactory$AbstractStackWalker";
