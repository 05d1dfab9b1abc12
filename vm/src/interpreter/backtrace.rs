//! Stack traces: captured when a throwable is made, turned into `StackTraceElement`s on demand.
//!
//! `Throwable.backtrace` holds a `long[]`, one element per frame, innermost first:
//!
//! ```text
//!  63  62       56 55            32 31          16 15          0
//! +---+------------+----------------+--------------+-------------+
//! | h |            | class id       | method slot  | bci         |
//! +---+------------+----------------+--------------+-------------+
//! ```
//!
//! `h`, only in the first element: a hidden frame inside of it is not shown, so the instruction is not the one
//! that threw. Native methods have the bci [`NATIVE_BCI`]. Where a class could be unloaded, `backtrace` holds an
//! `Object[]` instead: the `long[]`, and mirrors that keep the classes.

use crate::frames::walk;
use crate::loading::{allocate, arrays, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, MethodRef, object};
use classfile::BasicType;
use classfile::symbol::Symbol;
use gc::object::{KLASS_ID_MAX, KlassId, ObjectRef};

/// No instruction has it: code is at most 65535 bytes long.
pub const NATIVE_BCI: u16 = u16::MAX;
const HIDDEN_TOP: i64 = i64::MIN;

/// One frame of a stack trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceFrame {
    pub method: MethodRef,
    /// [`NATIVE_BCI`] for native methods.
    pub bci: u16,
}

impl TraceFrame {
    fn encode(self) -> i64 {
        let klass = self.method.holder.id.0 as i64;
        klass << 32 | (self.method.slot as i64 & 0xffff) << 16 | self.bci as i64
    }

    fn decode(t: &JavaThread, word: i64) -> TraceFrame {
        let klass = t.vm.klasses.get(KlassId((word >> 32) as u32 & KLASS_ID_MAX));
        let method = klass.methods()[(word >> 16) as u16 as usize];
        TraceFrame { method, bci: word as u16 }
    }

    /// As `StackTraceElement.lineNumber`: -2 for native methods, -1 where unknown.
    pub fn line(self) -> i32 {
        if self.bci == NATIVE_BCI {
            return -2;
        }
        let line = self.method.code().and_then(|code| code.line_number(self.bci));
        line.map_or(-1, |line| line as i32)
    }
}

/// `Throwable.fillInStackTrace`: captures the current thread's stack without the frames that make the throwable.
/// A safepoint. A heap that is too full leaves the throwable without a trace.
pub fn fill_in(t: &JavaThread, throwable: Handle) {
    let known = &t.vm.known;
    let klass = t.klass_of(throwable.get());
    let (frames, hidden_top) = capture(t, klass);
    let longs = arrays::primitive_array_class(t, BasicType::Long);
    let Ok(array) = allocate::new_array(t, longs, frames.len() as i32) else {
        t.pending.set(ObjectRef::NULL);
        return;
    };
    for (index, frame) in frames.iter().enumerate() {
        let mark = if hidden_top && index == 0 { HIDDEN_TOP } else { 0 };
        object::put_element::<i64>(array, index, frame.encode() | mark);
    }
    let _scope = t.scope();
    let array = t.root(array);
    let Ok(backtrace) = kept_alive(t, array, &frames) else {
        t.pending.set(ObjectRef::NULL);
        return;
    };
    let throwable = throwable.get();
    t.store_ref(throwable, known.fields.throwable_backtrace(), backtrace);
    object::put::<i32>(throwable, known.fields.throwable_depth(), frames.len() as i32);
    // An array that Java code made of an earlier trace does not belong to this one.
    let unassigned = unassigned_stack(t);
    t.store_ref(throwable, known.fields.throwable_stack_trace(), unassigned);
}

/// Keeps the classes of frames of another thread, which a stop of the world has shown, until the end of the current
/// scope: that thread may leave them. `false`: it has, and one of them was unloaded. There has been an
/// [`Unloading::hold`](crate::machine::unload::Unloading::hold) since before that stop. No safepoint.
pub fn keep(t: &JavaThread, frames: &[TraceFrame]) -> bool {
    let classes = classes_to_keep(frames);
    let are_alive = classes.iter().all(|class| !class.holder.is_dead());
    if are_alive {
        crate::java::objects::mirrors_of_found(t, classes);
    }
    are_alive
}

/// A class of each holder that could die.
fn classes_to_keep(frames: &[TraceFrame]) -> Vec<KlassRef> {
    let mut classes: Vec<KlassRef> = frames.iter().map(|frame| frame.method.holder).collect();
    classes.retain(|class| !class.holder.is_permanent());
    classes.sort_unstable_by_key(|class| class.holder.id.0);
    classes.dedup_by_key(|class| class.holder.id);
    classes
}

/// What `Throwable.backtrace` is to hold for these frames, which are on the thread's stack. A safepoint.
fn kept_alive(t: &JavaThread, array: Handle, frames: &[TraceFrame]) -> JResult<ObjectRef> {
    let classes = classes_to_keep(frames);
    if classes.is_empty() {
        return Ok(array.get());
    }
    let objects = t.vm.known.object_array();
    let kept = allocate::new_array(t, objects, classes.len() as i32 + 1)?;
    t.store_element(kept, 0, array.get());
    for (index, class) in classes.iter().enumerate() {
        t.store_element(kept, index + 1, t.mirror(class));
    }
    Ok(kept)
}

/// The numbers in a throwable's backtrace; null when it has none. No safepoint.
fn numbers_of(t: &JavaThread, throwable: ObjectRef) -> ObjectRef {
    let backtrace = t.load_ref(throwable, t.vm.known.fields.throwable_backtrace());
    let is_kept = !backtrace.is_null() && t.klass_of(backtrace) == t.vm.known.object_array();
    if is_kept { t.load_element(backtrace, 0) } else { backtrace }
}

/// The visible frames of the current thread from outside the making of a throwable of this class; whether there is a
/// hidden frame inside of them.
fn capture(t: &JavaThread, klass: KlassRef) -> (Vec<TraceFrame>, bool) {
    let is_filling = |method: MethodRef| {
        let name = method.name();
        let fills = matches!(name.bytes(), b"fillInStackTrace" | b"fillInStackTrace0");
        fills && klass.is_subtype_of(method.holder)
    };
    let is_constructing =
        |method: MethodRef| method.is_initializer() && klass.is_subtype_of(method.holder);
    let mut frames = walk::frames(t).map(|visited| TraceFrame {
        method: visited.method(),
        bci: visited.bci().unwrap_or(NATIVE_BCI),
    });
    let mut first = frames.next();
    while first.is_some_and(|frame| is_filling(frame.method)) {
        first = frames.next();
    }
    while first.is_some_and(|frame| is_constructing(frame.method)) {
        first = frames.next();
    }
    let is_hidden =
        |frame: &TraceFrame| !t.vm.options.shows_hidden_frames && frame.method.is_hidden();
    let hidden_top = first.is_some_and(|frame| is_hidden(&frame));
    let visible = first.into_iter().chain(frames).filter(|frame| !is_hidden(frame));
    (visible.take(depth_max(t)).collect(), hidden_top)
}

/// The stack trace of the current thread as it is now: for messages of the VM.
pub fn current(t: &JavaThread) -> Vec<TraceFrame> {
    let frames = walk::frames(t).map(|visited| TraceFrame {
        method: visited.method(),
        bci: visited.bci().unwrap_or(NATIVE_BCI),
    });
    frames.take(depth_max(t)).collect()
}

/// Frames that a stack trace has at most (`-XX:MaxJavaStackTraceDepth`).
fn depth_max(t: &JavaThread) -> usize {
    match t.vm.options.max_stack_trace_depth {
        0 => usize::MAX,
        depth => depth,
    }
}

/// The captured frames of a throwable; empty when it has none. No safepoint.
pub fn frames_of(t: &JavaThread, throwable: ObjectRef) -> Vec<TraceFrame> {
    let array = numbers_of(t, throwable);
    if array.is_null() {
        return Vec::new();
    }
    let word = |index| object::element::<i64>(array, index);
    (0..array.array_length()).map(|index| TraceFrame::decode(t, word(index))).collect()
}

/// The innermost captured frame, if it is where the exception was thrown. No safepoint.
pub fn visible_top(t: &JavaThread, throwable: ObjectRef) -> Option<TraceFrame> {
    let array = numbers_of(t, throwable);
    if array.is_null() || array.array_length() == 0 {
        return None;
    }
    let word = object::element::<i64>(array, 0);
    (word & HIDDEN_TOP == 0).then(|| TraceFrame::decode(t, word))
}

/// `StackTraceElement.initStackTraceElements`: fills the elements (none is null, at most as many as frames). A
/// safepoint.
pub fn fill_elements(t: &JavaThread, elements: Handle, throwable: Handle) -> JResult<()> {
    let frames = frames_of(t, throwable.get());
    let count = frames.len().min(elements.get().array_length());
    for (index, frame) in frames[..count].iter().enumerate() {
        let _scope = t.scope();
        let element = t.root(t.load_element(elements.get(), index));
        fill_element(t, element, *frame)?;
    }
    Ok(())
}

/// Fills one `StackTraceElement`. A safepoint.
pub fn fill_element(t: &JavaThread, element: Handle, frame: TraceFrame) -> JResult<()> {
    let holder = frame.method.holder;
    let known = &t.vm.known.fields;
    let klass = t.klass_of(element.get());
    let offset = |name: &str, descriptor: &str| {
        let field = klass.find_field(Symbol::of(name), Symbol::of(descriptor));
        field.unwrap_or_else(|| panic!("no StackTraceElement.{name}")).offset as usize
    };
    let string = "Ljava/lang/String;";
    let class_name = strings::intern_modified_utf8(t, holder.java_name().as_bytes())?;
    t.store_ref(element.get(), offset("declaringClass", string), class_name);
    let method_name = strings::intern_modified_utf8(t, frame.method.name().bytes())?;
    t.store_ref(element.get(), offset("methodName", string), method_name);
    if let Some(source) = holder.inst().file.source_file {
        let file_name = strings::intern_modified_utf8(t, source.bytes())?;
        t.store_ref(element.get(), offset("fileName", string), file_name);
    }
    let mirror_at = offset("declaringClassObject", "Ljava/lang/Class;");
    t.store_ref(element.get(), mirror_at, t.mirror(holder));
    object::put::<i32>(element.get(), offset("lineNumber", "I"), frame.line());
    let loader = t.load_root(&holder.loader.object);
    if !loader.is_null() {
        let name = t.load_ref(loader, known.loader_name());
        t.store_ref(element.get(), offset("classLoaderName", string), name);
    }
    if let Some(module) = t.vm.modules.named_module_of(holder) {
        let name = strings::from_str(t, &module.name)?;
        t.store_ref(element.get(), offset("moduleName", string), name);
        if let Some(version) = &module.version {
            let version = strings::from_str(t, version)?;
            t.store_ref(element.get(), offset("moduleVersion", string), version);
        }
    }
    Ok(())
}

/// `Throwable.UNASSIGNED_STACK`, the static array that stands for "ask the backtrace".
fn unassigned_stack(t: &JavaThread) -> ObjectRef {
    let throwable = t.vm.known.classes.throwable();
    let offset = throwable.offset_of("UNASSIGNED_STACK", "[Ljava/lang/StackTraceElement;");
    t.load_ref(t.mirror(throwable), offset)
}
