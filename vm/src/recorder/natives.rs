//! Natives of `jdk.jfr.internal.JVM`.

use super::chunk::TICKS_PER_SECOND;
use super::layout::Layout;
use super::{Emitted, Setting, Value, events};
use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::objects;
use crate::loading::{call, errors, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, object};
use crate::threads::exit;
use base::now_ns;
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use gc::object::log::{LogLevel, LogLine};
use std::sync::atomic::Ordering;

pub static FLIGHT_RECORDER: NativeTable = NativeTable {
    class: "jdk/jfr/internal/JVM",
    entries: &[
        entry("registerNatives", "", Native::Direct(nothing)),
        entry("isAvailable", "", Native::Direct(is_available)),
        entry("createJFR", "", Native::Direct(create)),
        entry("destroyJFR", "", Native::Direct(destroy)),
        entry("beginRecording", "", Native::Direct(begin)),
        entry("endRecording", "", Native::Direct(end)),
        entry("isRecording", "", Native::Direct(is_recording)),
        entry("setOutput", "", Native::Direct(set_output)),
        entry("markChunkFinal", "", Native::Direct(mark_final)),
        entry("flush", "()V", Native::Direct(flush)),
        entry("shouldRotateDisk", "", Native::Direct(should_rotate)),
        entry("getChunkStartNanos", "", Native::Direct(chunk_start)),
        entry("storeMetadataDescriptor", "", Native::Direct(store_metadata)),
        entry("setRepositoryLocation", "", Native::Direct(nothing)),
        // Times.
        entry("counterTime", "()J", Native::Direct(|_, _| Ok(now_ns()))),
        entry("getTicksFrequency", "()J", Native::Direct(|_, _| Ok(TICKS_PER_SECOND))),
        entry("getTimeConversionFactor", "", Native::Direct(|_, _| Ok(1f64.to_bits()))),
        // Types and constants.
        entry("getTypeId", "(Ljava/lang/Class;)J", Native::Direct(type_id)),
        entry("getTypeId", "(Ljava/lang/String;)J", Native::Direct(type_id_of_name)),
        entry("getClassId", "", Native::Direct(class_id)),
        entry("getThreadId", "", Native::Direct(thread_id)),
        entry("getStackTraceId", "", Native::Direct(stack_trace_id)),
        entry("addStringConstant", "", Native::Direct(add_string)),
        // Writing.
        entry("getEventWriter", "", Native::Direct(event_writer)),
        entry("newEventWriter", "", Native::Direct(new_event_writer)),
        entry("flush", "(Ljdk/jfr/internal/EventWriter;II)Z", Native::Direct(make_room)),
        entry("emitEvent", "", Native::Direct(emit)),
        entry("emitDataLoss", "", Native::Direct(emit_data_loss)),
        // Classes.
        entry("getAllEventClasses", "", Native::Direct(event_classes)),
        entry("getUnloadedEventClassCount", "", Native::Direct(nothing)),
        entry("getHandler", "", Native::Direct(handler)),
        entry("setHandler", "", Native::Direct(set_handler)),
        entry("getAllowedToDoEventRetransforms", "", Native::Direct(nothing)),
        // Classes of events have their code already, and other classes cannot be changed.
        entry("retransformClasses", "", Native::Direct(nothing)),
        entry("setForceInstrumentation", "", Native::Direct(nothing)),
        // Settings of the VM's events.
        entry("setEnabled", "", Native::Direct(set_enabled)),
        // They have no stack traces.
        entry("setStackTraceEnabled", "", Native::Direct(nothing)),
        entry("setThreshold", "", Native::Direct(set_threshold)),
        entry("setCutoff", "", Native::Direct(nothing)),
        entry("setThrottle", "", Native::Direct(nothing)),
        entry("setMethodSamplingPeriod", "", Native::Direct(nothing)),
        entry("emitOldObjectSamples", "", Native::Direct(nothing)),
        entry("exclude", "", Native::Direct(exclude)),
        entry("include", "", Native::Direct(include)),
        entry("isExcluded", "", Native::Direct(is_excluded)),
        // Sizes.
        entry("setFileNotification", "", Native::Direct(set_chunk_bytes)),
        entry("setMemorySize", "", Native::Direct(set_memory_bytes)),
        entry("setThreadBufferSize", "", Native::Direct(set_buffer_bytes)),
        entry("setStackDepth", "", Native::Direct(set_stack_depth)),
        // There are no global buffers.
        entry("setGlobalBufferCount", "", Native::Direct(nothing)),
        entry("setGlobalBufferSize", "", Native::Direct(nothing)),
        entry("setSampleThreads", "", Native::Direct(nothing)),
        entry("setCompressedIntegers", "", Native::Direct(set_compressed)),
        // Others.
        entry("getPid", "", Native::Direct(pid)),
        entry("log", "", Native::Direct(log)),
        entry("logEvent", "", Native::Direct(log_event)),
        entry("subscribeLogLevel", "", Native::Direct(subscribe_log)),
        entry("abort", "", Native::Direct(abort)),
        entry("uncaughtException", "", Native::Direct(uncaught)),
    ],
};

fn nothing(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

fn is_available(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(u64::from(!super::start::is_disabled(t)))
}

/// `createJFR(simulateFailure)`
fn create(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let fails = args.boolean(1) || read_layout(t).is_none();
    if fails {
        return errors::fail(t, "java/lang/IllegalStateException", "Unable to start Jfr");
    }
    t.vm.recorder.is_created.store(true, Ordering::Relaxed);
    Ok(1)
}

fn read_layout(t: &JavaThread) -> Option<&'static Layout> {
    let layout = &t.vm.recorder.layout;
    if layout.get().is_none() {
        let bytes = t.vm.image.file("jdk.jfr", "jdk/jfr/internal/types/metadata.bin")?;
        let _ = layout.set(Layout::parse(bytes)?);
    }
    layout.get()
}

fn destroy(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.vm.recorder.is_created.store(false, Ordering::Relaxed);
    Ok(1)
}

fn begin(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    if !t.vm.recorder.is_recording.load(Ordering::Relaxed) {
        t.vm.recorder.begin(t);
    }
    Ok(0)
}

fn end(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    if t.vm.recorder.is_recording.load(Ordering::Relaxed) {
        t.vm.recorder.end(t)?;
    }
    Ok(0)
}

fn is_recording(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(u64::from(t.vm.recorder.is_recording.load(Ordering::Relaxed)))
}

/// `setOutput(file)`
fn set_output(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let path = args.object(1);
    let path = (!path.is_null()).then(|| strings::to_text(t, path).into());
    t.vm.recorder.set_output(t, path)?;
    Ok(0)
}

fn mark_final(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.safely(|| t.vm.recorder.session.lock().is_last = true);
    Ok(0)
}

fn flush(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    t.vm.recorder.flush(t);
    Ok(0)
}

/// The class library asks once a second.
fn should_rotate(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let recorder = &t.vm.recorder;
    if recorder.is_recording.load(Ordering::Relaxed) {
        recorder.collections.emit(t, recorder);
        recorder.keep(t, Vec::new());
    }
    let sizes = &recorder.sizes;
    let written = sizes.written_bytes.load(Ordering::Relaxed);
    Ok(u64::from(written > sizes.chunk_bytes.load(Ordering::Relaxed)))
}

fn chunk_start(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(t.vm.recorder.sizes.chunk_start_ns.load(Ordering::Relaxed))
}

/// `storeMetadataDescriptor(bytes)`
fn store_metadata(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let bytes = args.object(1);
    if bytes.is_null() {
        return Err(errors::null_pointer(t));
    }
    let bytes = objects::bytes_of(bytes);
    t.safely(|| {
        let mut session = t.vm.recorder.session.lock();
        session.metadata = bytes;
        session.metadata_number += 1;
    });
    Ok(0)
}

/// `getTypeId(class)`
fn type_id(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = args.object(1);
    if class.is_null() {
        return Err(errors::null_pointer(t));
    }
    Ok(t.vm.recorder.type_id(t.klass_of_mirror(class)))
}

/// `getTypeId(name)`
fn type_id_of_name(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let name = args.object(1);
    if name.is_null() {
        return Err(errors::null_pointer(t));
    }
    let name = strings::to_text(t, name);
    match read_layout(t).and_then(|layout| layout.find(&name)) {
        Some(ty) => Ok(ty.id),
        None => errors::fail(t, "java/lang/InternalError", &format!("no type {name}")),
    }
}

/// `getClassId(class)`, static.
fn class_id(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = args.object(0);
    if class.is_null() {
        return Ok(0);
    }
    Ok(t.vm.recorder.constants.lock().class(t, t.klass_of_mirror(class)))
}

/// `getThreadId(thread)`
fn thread_id(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let thread = args.object(1);
    if thread.is_null() {
        return Ok(0);
    }
    Ok(t.vm.recorder.constants.lock().thread(t, thread, 0))
}

/// `getStackTraceId(skipCount)`
fn stack_trace_id(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let skipped = args.int(1).max(0) as usize;
    let depth = t.vm.recorder.sizes.stack_depth.load(Ordering::Relaxed);
    Ok(t.vm.recorder.constants.lock().stack_trace(t, skipped, depth))
}

/// `addStringConstant(id, string)`, static.
fn add_string(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let string = args.object(2);
    if string.is_null() {
        return Err(errors::null_pointer(t));
    }
    let units = strings::to_utf16(t, string);
    let number = args.long(0) as u64;
    t.vm.recorder.constants.lock().string(number, &units);
    t.vm.recorder.strings.add(number);
    Ok(1)
}

fn event_writer(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(t.vm.recorder.writers.current(t).address() as u64)
}

fn new_event_writer(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(t.vm.recorder.new_writer(t)?.address() as u64)
}

/// `flush(writer, uncommittedSize, requestedSize)`, static.
fn make_room(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if args.object(0).is_null() {
        return Err(errors::null_pointer(t));
    }
    let bytes = |slot| args.int(slot).max(0) as usize;
    Ok(u64::from(t.vm.recorder.make_room(t, args.handle(0), bytes(1), bytes(2))))
}

/// `emitEvent(type, timestamp, when)`
fn emit(t: &JavaThread, args: Arguments) -> JResult<u64> {
    events::emit_periodic(t, args.long(1) as u64);
    Ok(1)
}

/// `emitDataLoss(bytes)`, static.
fn emit_data_loss(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let values = &[("amount", Value::Number(args.long(0) as u64))];
    t.vm.recorder.emit(Emitted { values, ..Emitted::now("jdk.DataLoss") });
    Ok(0)
}

fn event_classes(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    let arrays = objects::boot_class(t, "java/util/Arrays")?;
    let mirrors = objects::mirrors_of_found(t, t.vm.recorder.classes.initialized());
    let array = objects::array_of(t, t.vm.known.classes.class(), &mirrors)?;
    let as_list = call::find(arrays, "asList", "([Ljava/lang/Object;)Ljava/util/List;");
    t.call(as_list, &[array.address() as u64])
}

/// `getHandler(class)`
fn handler(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = t.klass_of_mirror(args.object(1));
    Ok(t.vm.recorder.classes.handler(t, class).address() as u64)
}

/// `setHandler(class, handler)`
fn set_handler(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = t.klass_of_mirror(args.object(1));
    Ok(u64::from(t.vm.recorder.classes.set_handler(t, class, args.object(2))))
}

fn change(t: &JavaThread, args: Arguments, change: impl FnOnce(&mut Setting)) -> JResult<u64> {
    change(t.vm.recorder.settings.write().entry(args.long(1) as u64).or_default());
    Ok(1)
}

/// `setEnabled(type, enabled)`
fn set_enabled(t: &JavaThread, args: Arguments) -> JResult<u64> {
    change(t, args, |setting| setting.is_enabled = args.boolean(3))
}

/// `setThreshold(type, ticks)`
fn set_threshold(t: &JavaThread, args: Arguments) -> JResult<u64> {
    change(t, args, |setting| setting.threshold_ticks = args.long(3).max(0) as u64)
}

fn excluded_thread(t: &JavaThread, args: Arguments) -> JResult<i64> {
    let thread = args.object(1);
    if thread.is_null() {
        return Err(errors::null_pointer(t));
    }
    Ok(object::get(thread, t.vm.known.fields.thread_tid()))
}

/// `exclude(thread)`
fn exclude(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let thread = excluded_thread(t, args)?;
    t.vm.recorder.excluded.lock().insert(thread);
    Ok(0)
}

/// `include(thread)`
fn include(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let thread = excluded_thread(t, args)?;
    t.vm.recorder.excluded.lock().remove(&thread);
    Ok(0)
}

/// `isExcluded(thread)`
fn is_excluded(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let thread = excluded_thread(t, args)?;
    Ok(u64::from(t.vm.recorder.excluded.lock().contains(&thread)))
}

/// `setFileNotification(bytes)`
fn set_chunk_bytes(t: &JavaThread, args: Arguments) -> JResult<u64> {
    t.vm.recorder.sizes.chunk_bytes.store(args.long(1).max(0) as u64, Ordering::Relaxed);
    Ok(0)
}

/// `setMemorySize(bytes)`
fn set_memory_bytes(t: &JavaThread, args: Arguments) -> JResult<u64> {
    t.vm.recorder.sizes.memory_bytes.store(args.long(1).max(0) as usize, Ordering::Relaxed);
    Ok(0)
}

/// `setThreadBufferSize(bytes)`
fn set_buffer_bytes(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let bytes = usize::try_from(args.long(1)).unwrap_or(0);
    if !(BUFFER_BYTES_MIN..=BUFFER_BYTES_MAX).contains(&bytes) {
        let message = format!("thread buffers have {BUFFER_BYTES_MIN} to {BUFFER_BYTES_MAX} bytes");
        return errors::fail(t, "java/lang/IllegalArgumentException", &message);
    }
    t.vm.recorder.sizes.buffer_bytes.store(bytes.next_power_of_two(), Ordering::Relaxed);
    Ok(0)
}

/// `setStackDepth(frames)`
fn set_stack_depth(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let depth = args.int(1).clamp(1, STACK_DEPTH_MAX) as usize;
    t.vm.recorder.sizes.stack_depth.store(depth, Ordering::Relaxed);
    Ok(0)
}

/// `setCompressedIntegers(compressed)`
fn set_compressed(t: &JavaThread, args: Arguments) -> JResult<u64> {
    match args.boolean(1) {
        true => Ok(0),
        false => {
            errors::fail(t, "java/lang/IllegalStateException", "integers are always compressed")
        }
    }
}

fn pid(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(strings::from_str(t, &std::process::id().to_string())?.address() as u64)
}

/// `log(tagSet, level, message)`, static.
fn log(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (Some(tags), message) = (tags(args.int(0)), args.object(2)) else { return Ok(0) };
    if !message.is_null() {
        let message = strings::to_text(t, message);
        t.vm.options.log.line(LogLine { level: level(args.int(1)), tags, message: &message });
    }
    Ok(0)
}

/// `logEvent(level, lines, isSystem)`, static.
fn log_event(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let lines = args.object(1);
    let tags = if args.boolean(2) { "jfr,system,event" } else { "jfr,event" };
    if !lines.is_null() {
        for index in 0..lines.array_length() {
            let line = t.load_element(lines, index);
            if !line.is_null() {
                let message = strings::to_text(t, line);
                t.vm.options.log.line(LogLine {
                    level: level(args.int(0)),
                    tags,
                    message: &message,
                });
            }
        }
    }
    Ok(0)
}

/// `subscribeLogLevel(tag, tagSet)`, static: the tag object gets the lowest level that is logged.
fn subscribe_log(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (tag, tags) = (args.object(0), tags(args.int(1)));
    let (Some(tags), false) = (tags, tag.is_null()) else { return Ok(0) };
    let wanted = (1..=ERROR).find(|number| t.vm.options.log.wants(tags, level(*number)));
    let name = Symbol::of("tagSetLevel");
    if let Some(field) = t.klass_of(tag).find_field(name, Symbol::of("I")) {
        object::put(tag, field.offset as usize, wanted.unwrap_or(ERROR + 1));
    }
    Ok(0)
}

/// `abort(message)`
fn abort(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let message = args.object(1);
    let message = if message.is_null() { String::new() } else { strings::to_text(t, message) };
    super::log(t, LogLevel::Error, &message);
    exit::halt(t, 1)
}

/// `uncaughtException(thread, throwable)`: in the hook that ends recordings.
fn uncaught(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let thrown: ObjectRef = args.object(2);
    if !thrown.is_null() {
        let message = format!("uncaught exception: {}", t.klass_of(thrown).java_name());
        super::log(t, LogLevel::Error, &message);
    }
    Ok(0)
}

/// By number, as in the class library's `LogTag`.
fn tags(number: i32) -> Option<&'static str> {
    TAGS.get(usize::try_from(number).ok()?).copied()
}

/// By number, as in the class library's `LogLevel`.
fn level(number: i32) -> LogLevel {
    match number {
        ..=1 => LogLevel::Trace,
        2 => LogLevel::Debug,
        3 => LogLevel::Info,
        4 => LogLevel::Warning,
        _ => LogLevel::Error,
    }
}

const TAGS: &[&str] = &[
    "jfr",
    "jfr,system",
    "jfr,system,event",
    "jfr,system,setting",
    "jfr,system,bytecode",
    "jfr,system,parser",
    "jfr,system,metadata",
    "jfr,system,streaming",
    "jfr,system,throttle",
    "jfr,metadata",
    "jfr,event",
    "jfr,setting",
    "jfr,dcmd",
    "jfr,start",
];
const ERROR: i32 = 5;

const BUFFER_BYTES_MIN: usize = 4 << 10;
const BUFFER_BYTES_MAX: usize = 64 << 20;
const STACK_DEPTH_MAX: i32 = 2048;
