//! Bringing the class library up: the order in which it expects its classes to be initialized, the main
//! thread's objects, and the three phases of `java.lang.System`.

use super::start_times::StartTimes;
use crate::loading::errors::describe;
use crate::loading::{allocate, arrays, call, errors, initialize, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassRef, object};
use classfile::symbol::Symbol;
use gc::object::ObjectRef;
use std::sync::atomic::Ordering;

/// Runs everything from the first Java code to a VM that can run programs. Errors are messages for the
/// command line; the exception has been described on stderr.
pub fn run(t: &JavaThread) -> Result<(), String> {
    let step = |name: &str, result: JResult<()>| {
        result.map_err(|thrown| format!("{name} failed: {}", describe(t, thrown)))
    };
    let log = &t.vm.options.log;
    let mut times = StartTimes::begin(log);
    step("initialization of java.lang", first_classes(t))?;
    step("System.initPhase1", phase1(t))?;
    t.vm.init_level.store(1, Ordering::Release);
    times.end("Initialize java.lang classes");
    step("initialization of errors", spare_errors(t))?;
    crate::threads::start_signal_dispatcher(t, crate::diagnostics::on_quit)
        .map_err(|thrown| format!("no signal dispatcher: {}", describe(t, thrown)))?;
    step("the start of string deduplication", crate::threads::deduplication::start(t))?;
    let mut times = StartTimes::begin(log);
    step("initialization of java.lang.invoke", method_handles(t))?;
    times.end("Initialize java.lang.invoke classes");
    step("System.initPhase2", phase2(t))?;
    times.end("Initialize module system");
    t.vm.init_level.store(2, Ordering::Release);
    step("System.initPhase3", phase3(t))?;
    t.vm.init_level.store(3, Ordering::Release);
    step("the system class loader", class_loaders(t))?;
    step("the start of diagnostics", crate::diagnostics::start(t))?;
    if t.vm.options.starts_agent {
        start_agent(t)?;
    }
    crate::recorder::start::start_all(t)?;
    crate::agents::start_all(t)
}

/// Starts the management agent, as its properties say. A wrong configuration ends the process: the agent has said why.
fn start_agent(t: &JavaThread) -> Result<(), String> {
    let loader = t.vm.known.system_loader.get().expect("it was found before");
    let name = "jdk/internal/agent/Agent";
    let class = lookup::load_class(t, loader, Symbol::of(name)).map_err(|thrown| {
        let why = describe(t, thrown);
        format!("Management agent initialization failure: class {name} not found: {why}")
    })?;
    let started = initialize::initialize(t, class)
        .and_then(|()| call::call_static(t, class, "startAgent", "()V", &[]));
    if started.is_err() {
        // SAFETY: ends the process, as `java` does.
        unsafe { libc::_exit(1) }
    }
    Ok(())
}

fn first_classes(t: &JavaThread) -> JResult<()> {
    let classes = &t.vm.known.classes;
    for klass in [classes.string(), classes.system(), classes.class(), classes.thread_group()] {
        initialize::initialize(t, klass)?;
    }
    initialize::initialize(t, classes.thread())?;
    main_thread(t)?;
    initialize::initialize(t, classes.module())?;
    unsafe_constants(t)?;
    initialize::initialize(t, classes.reflect_method())?;
    initialize::initialize(t, classes.finalizer())
}

/// The `system` and `main` thread groups, and the `Thread` object of this thread.
fn main_thread(t: &JavaThread) -> JResult<()> {
    let _scope = t.scope();
    let classes = &t.vm.known.classes;
    let system = construct(t, classes.thread_group(), "()V", &[])?;
    let name = strings::from_str(t, "main")?;
    let name = t.root(name);
    let descriptor = "(Ljava/lang/ThreadGroup;Ljava/lang/String;)V";
    let group = construct(t, classes.thread_group(), descriptor, &[system, name])?;
    let thread = allocate::new_instance(t, classes.thread())?;
    let thread = t.root(thread);
    // The constructor asks for the current thread and its priority.
    crate::threads::bind_object(t, thread);
    object::put(thread.get(), t.vm.known.fields.thread_priority(), NORMAL_PRIORITY);
    let constructor = call::find(classes.thread(), "<init>", descriptor);
    t.call(constructor, &words(&[thread, group, name]))?;
    crate::monitors::status::set_status(t, thread.get(), crate::monitors::status::RUNNABLE);
    t.store_root(&t.vm.threads.system_group, system.get());
    t.store_root(&t.vm.threads.main_group, group.get());
    Ok(())
}

/// Makes an object and runs a constructor.
pub fn construct(
    t: &JavaThread,
    klass: KlassRef,
    descriptor: &str,
    arguments: &[Handle],
) -> JResult<Handle> {
    initialize::initialize(t, klass)?;
    let object = allocate::new_instance(t, klass)?;
    let object = t.root(object);
    let constructor = call::find(klass, "<init>", descriptor);
    let all: Vec<Handle> = std::iter::once(object).chain(arguments.iter().copied()).collect();
    t.call(constructor, &words(&all))?;
    Ok(object)
}

/// Argument slots of references.
pub fn words(handles: &[Handle]) -> Vec<u64> {
    handles.iter().map(|handle| handle.get().address() as u64).collect()
}

/// Constants of the machine, which the library reads from `jdk.internal.misc.UnsafeConstants`.
fn unsafe_constants(t: &JavaThread) -> JResult<()> {
    let klass = t.vm.known.classes.unsafe_constants();
    initialize::initialize(t, klass)?;
    let mirror = t.mirror(klass);
    let offset = |name, descriptor| klass.offset_of(name, descriptor);
    // SAFETY: sysconf has no memory effects.
    let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as i32;
    object::put(mirror, offset("ADDRESS_SIZE0", "I"), 8i32);
    object::put(mirror, offset("PAGE_SIZE", "I"), page_bytes);
    object::put(mirror, offset("BIG_ENDIAN", "Z"), i8::from(cfg!(target_endian = "big")));
    object::put(mirror, offset("UNALIGNED_ACCESS", "Z"), i8::from(cfg!(target_arch = "x86_64")));
    object::put(mirror, offset("DATA_CACHE_LINE_FLUSH_SIZE", "I"), 0i32);
    Ok(())
}

fn phase1(t: &JavaThread) -> JResult<()> {
    t.call(call::find(t.vm.known.classes.system(), "initPhase1", "()V"), &[])?;
    Ok(())
}

/// Errors that must be throwable when nothing else works.
fn spare_errors(t: &JavaThread) -> JResult<()> {
    let _scope = t.scope();
    for name in [
        "java/lang/NullPointerException",
        "java/lang/ClassCastException",
        "java/lang/ArrayStoreException",
        "java/lang/ArithmeticException",
        "java/lang/StackOverflowError",
        "java/lang/IllegalMonitorStateException",
        "java/lang/IllegalArgumentException",
    ] {
        let klass = lookup::load_class(t, t.vm.boot_loader, Symbol::of(name))?;
        initialize::initialize(t, klass)?;
    }
    let message = Some("Java heap space");
    let error = errors::new_throwable(t, "java/lang/OutOfMemoryError", message)?;
    t.store_root(&t.vm.spare_out_of_memory, error.get());
    Ok(())
}

fn method_handles(t: &JavaThread) -> JResult<()> {
    let classes = &t.vm.known.classes;
    initialize::initialize(t, classes.method_handle())?;
    initialize::initialize(t, classes.resolved_method_name())?;
    initialize::initialize(t, classes.method_handle_natives())
}

fn phase2(t: &JavaThread) -> JResult<()> {
    let method = call::find(t.vm.known.classes.system(), "initPhase2", "(ZZ)I");
    // Print failures, with stack traces.
    let status = t.call(method, &[1, 1])?;
    match status as i32 {
        0 => Ok(()),
        _ => errors::fail(t, "java/lang/InternalError", "the boot layer could not be made"),
    }
}

fn phase3(t: &JavaThread) -> JResult<()> {
    t.call(call::find(t.vm.known.classes.system(), "initPhase3", "()V"), &[])?;
    Ok(())
}

/// Remembers the built-in loaders, whose classes may carry the VM's annotations.
fn class_loaders(t: &JavaThread) -> JResult<()> {
    let klass = t.vm.known.classes.class_loader();
    let get = |name: &str| -> JResult<ObjectRef> {
        let method = call::find(klass, name, "()Ljava/lang/ClassLoader;");
        Ok(ObjectRef::from_address(t.call(method, &[])? as usize))
    };
    let platform = get("getPlatformClassLoader")?;
    t.vm.known.platform_loader.get_or_init(|| lookup::loader_data(t, platform));
    let system = get("getSystemClassLoader")?;
    t.vm.known.system_loader.get_or_init(|| lookup::loader_data(t, system));
    let _ = arrays::array_class(t, t.vm.known.classes.string())?;
    Ok(())
}

const NORMAL_PRIORITY: i32 = 5;
