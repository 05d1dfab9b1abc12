//! Compiled methods. There is one compiler, which stands for all levels of HotSpot's from 1 on.

use crate::ffi::registry::{Arguments, Native, NativeEntry, entry};
use crate::java::reflect;
use crate::jit::requests;
use crate::jit::translate::intrinsics;
use crate::loading::{allocate, boxes, errors, link, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, MethodRef};
use classfile::BasicType;
use classfile::symbol::Symbol;

pub const ENTRIES: &[NativeEntry] = &[
    entry("isMethodCompiled0", "", Native::Direct(is_compiled)),
    entry("isMethodCompilable0", "", Native::Direct(is_compilable)),
    entry("isMethodQueuedForCompilation0", "", Native::Direct(is_queued)),
    entry("getMethodCompilationLevel0", "", Native::Direct(level)),
    entry("getMethodEntryBci0", "", Native::Direct(entry_bci)),
    entry("enqueueMethodForCompilation0", "", Native::Direct(compile)),
    entry("enqueueInitializerForCompilation0", "", Native::Direct(compile_initializer)),
    entry("makeMethodNotCompilable0", "", Native::Direct(exclude)),
    entry("clearMethodState0", "", Native::Direct(reset)),
    entry("testSetDontInlineMethod0", "", Native::Direct(forbid_inlining)),
    entry("testSetForceInlineMethod0", "", Native::Direct(force_inlining)),
    entry("deoptimizeMethod0", "", Native::Direct(discard)),
    entry("deoptimizeAll", "", Native::Direct(discard_all)),
    entry("clearInlineCaches0", "", Native::Direct(forget_selections)),
    entry("getCompileQueueSize", "", Native::Direct(|t, _| Ok(t.vm.jit.queue.waiting() as u64))),
    entry("getCompilationActivityMode", "", Native::Direct(activity)),
    entry("lockCompilation", "", Native::Direct(|t, _| hold(t, true))),
    entry("unlockCompilation", "", Native::Direct(|t, _| hold(t, false))),
    entry("isIntrinsicAvailable0", "", Native::Direct(is_intrinsic)),
    entry("forceNMethodSweep", "", Native::Direct(sweep)),
    entry("allocateCodeBlob", "(II)J", Native::Direct(reserve_code)),
    entry("getCodeBlob", "", Native::Direct(describe_code)),
    entry("freeCodeBlob", "", Native::Direct(release_code)),
];

/// `isMethodCompiled0(method, isOsr)`
fn is_compiled(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(requests::is_compiled(t.vm, method(t, args)?, args.boolean(2))))
}

/// `isMethodCompilable0(method, level, isOsr)`
fn is_compilable(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (method, level) = (method(t, args)?, args.int(2));
    let is_level = level == ANY_LEVEL || requests::has_level(t.vm, level);
    Ok(u64::from(is_level && requests::is_compilable(t.vm, method, args.boolean(3))))
}

/// `isMethodQueuedForCompilation0(method)`
fn is_queued(t: &JavaThread, args: Arguments) -> JResult<u64> {
    Ok(u64::from(requests::is_queued(method(t, args)?)))
}

/// `getMethodCompilationLevel0(method, isOsr)`: 0 without code.
fn level(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let method = method(t, args)?;
    match requests::is_compiled(t.vm, method, args.boolean(2)) {
        true => Ok(requests::level(t.vm, method) as u64),
        false => Ok(0),
    }
}

/// `getMethodEntryBci0(method)`: of code for a loop, or that of a call.
fn entry_bci(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let bci = requests::loop_bci(t.vm, method(t, args)?).map_or(CALL_BCI, i64::from);
    Ok(bci as u64)
}

/// `enqueueMethodForCompilation0(method, level, bci)`: whether it is compiled, or will be.
fn compile(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (method, level, bci) = (method(t, args)?, args.int(2), args.int(3));
    if !requests::has_level(t.vm, level) {
        return Ok(0);
    }
    link::link(t, method.holder)?;
    requests::note_level(t.vm, method, level);
    Ok(u64::from(requests::compile(t, method, u16::try_from(bci).ok())))
}

/// `enqueueInitializerForCompilation0(class, level)`
fn compile_initializer(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let class = args.object(1);
    if class.is_null() {
        return Err(errors::null_pointer(t));
    }
    let klass = t.klass_of_mirror(class);
    let (name, descriptor) = (Symbol::of("<clinit>"), Symbol::of("()V"));
    if klass.instance().is_some() {
        link::link(t, klass)?;
    }
    let method = klass.declared_method(name, descriptor);
    Ok(u64::from(method.is_some_and(|method| requests::compile(t, method, None))))
}

/// `makeMethodNotCompilable0(method, level, isOsr)`
fn exclude(t: &JavaThread, args: Arguments) -> JResult<u64> {
    requests::exclude(method(t, args)?, args.boolean(3));
    Ok(0)
}

/// `clearMethodState0(method)`
fn reset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    requests::reset(t.vm, method(t, args)?);
    Ok(0)
}

/// `testSetDontInlineMethod0(method, value)`: the value before.
fn forbid_inlining(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let method = method(t, args)?;
    Ok(u64::from(t.vm.jit.requests.forbid(method, args.boolean(2))))
}

/// `testSetForceInlineMethod0(method, value)`: the value before.
fn force_inlining(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let method = method(t, args)?;
    Ok(u64::from(t.vm.jit.requests.force(method, args.boolean(2))))
}

/// `deoptimizeMethod0(method, isOsr)`: how many bodies are not entered any more.
fn discard(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (method, is_loop) = (method(t, args)?, args.boolean(2));
    let is_it = |of: MethodRef, loop_bci: Option<u16>| {
        std::ptr::eq(of, method) && loop_bci.is_some() == is_loop
    };
    Ok(requests::discard(t, &is_it) as u64)
}

fn discard_all(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    requests::discard(t, &|_, _| true);
    Ok(0)
}

/// `clearInlineCaches0(preserveStaticStubs)`: there are no such stubs.
fn forget_selections(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    requests::forget_selections(t);
    Ok(0)
}

/// `getCompilationActivityMode()`, in HotSpot's numbers.
fn activity(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(if requests::is_active(t.vm) { RUNS } else { STOPPED })
}

/// `lockCompilation()`, `unlockCompilation()`
fn hold(t: &JavaThread, is_held: bool) -> JResult<u64> {
    t.vm.jit.queue.hold(is_held);
    Ok(0)
}

/// `isIntrinsicAvailable0(method, context, level)`: whether compiled code calls the method by code of the VM. That does
/// not depend on where it is called.
fn is_intrinsic(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (method, level) = (method(t, args)?, args.int(3));
    let is_level = requests::has_level(t.vm, level);
    Ok(u64::from(is_level && intrinsics::is_known(t.vm, method)))
}

/// `forceNMethodSweep()`
fn sweep(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    requests::sweep(t);
    Ok(0)
}

/// `allocateCodeBlob(bytes, type)`: an address in the code cache, which holds all types; 0 if it has no room.
fn reserve_code(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let Ok(bytes) = usize::try_from(args.int(1)) else {
        let message = "WB_AllocateCodeBlob: size is negative";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    };
    Ok(t.vm.jit.cache.reserve(bytes).unwrap_or(0) as u64)
}

/// `getCodeBlob(address)`: name, bytes, type and address of room of `allocateCodeBlob`; null elsewhere.
fn describe_code(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let address = args.long(1);
    let Some(bytes) = t.vm.jit.cache.reserved_at(address as usize) else { return Ok(0) };
    let _scope = t.scope();
    let parts = t.root(allocate::new_array(t, t.vm.known.object_array(), 4)?);
    let name = strings::from_str(t, "WB::DummyBlob")?;
    t.store_element(parts.get(), 0, name);
    let numbers = [
        (BasicType::Int, bytes as u64),
        (BasicType::Int, ALL_TYPES),
        (BasicType::Long, address as u64),
    ];
    for (i, (ty, number)) in numbers.into_iter().enumerate() {
        let boxed = boxes::wrap(t, ty, number)?;
        t.store_element(parts.get(), i + 1, boxed);
    }
    Ok(parts.get().address() as u64)
}

/// `freeCodeBlob(address)`; 0 is passed over.
fn release_code(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let address = args.long(1) as usize;
    if address != 0 && !t.vm.jit.cache.release(address) {
        let message = "there is no room of allocateCodeBlob at the address";
        return errors::fail(t, "java/lang/IllegalArgumentException", message);
    }
    Ok(0)
}

fn method(t: &JavaThread, args: Arguments) -> JResult<MethodRef> {
    match args.object(1) {
        executable if executable.is_null() => Err(errors::null_pointer(t)),
        executable => Ok(reflect::executable_of(t, executable)),
    }
}

/// HotSpot's numbers.
const ANY_LEVEL: i32 = -1;
const CALL_BCI: i64 = -1;
const ALL_TYPES: u64 = 3;
const STOPPED: u64 = 0;
const RUNS: u64 = 1;
