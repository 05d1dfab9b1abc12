//! The section `THREAD`: the thread that has crashed.

use super::memory;
use super::native_frames::NativeFrames;
use super::output::{Output, Text};
use super::report::{Frame, Report, signal_name};
use super::state;
use super::symbols::{Mapping, Place};
use crate::frames::crashed::{self, CrashedFrame, Kind};
use crate::machine::{JavaThread, Vm};
use crate::runtime::MethodRef;
use libc::c_int;
use std::fmt::{self, Write};

pub fn write_current(report: &Report<'_>) {
    report.out.line(format_args!("\n---------------  T H R E A D  ---------------\n"));
    report.out.put(format_args!("Current thread "));
    match JavaThread::try_current() {
        Some(t) => {
            report.out.put(format_args!("({:#018x}):  ", std::ptr::from_ref(t) as usize));
            write_thread(report.out, t);
        }
        None => {
            // SAFETY: plain query.
            let tid = unsafe { libc::gettid() };
            report.out.line(format_args!("is native thread, id={tid}"));
        }
    }
    report.out.line(format_args!(""));
}

/// The rest of a line about a Java thread.
pub fn write_thread(out: Output, t: &JavaThread) {
    let state = if t.mutator.is_running() { "_thread_in_Java" } else { "_thread_in_native" };
    let tid = t.os_thread.load(std::sync::atomic::Ordering::Relaxed);
    let stack = t.java_stack.range();
    out.line(format_args!(
        "JavaThread \"{}\" [{state}, id={tid}, Java stack({:#018x},{:#018x})]",
        t.shown_name, stack.start, stack.end
    ));
}

pub fn write_stack_bounds(report: &Report<'_>) {
    let sp = report.crash.sp();
    if let Some(stack) = Mapping::of(sp) {
        let free = sp.saturating_sub(stack.start) >> 10;
        report.out.line(format_args!(
            "Stack: [{:#018x},{:#018x}],  sp={sp:#018x},  free space={free}k",
            stack.start, stack.end
        ));
    }
}

pub fn write_native_frames(report: &Report<'_>) {
    report.out.line(format_args!(
        "Native frames: (J=compiled Java code, j=interpreted, Vv=VM code, C=native code)"
    ));
    let frames = NativeFrames::walk(report.crash.context());
    frames.iter().for_each(|frame| report.out.line(format_args!("{}", Frame(frame))));
    report.out.line(format_args!(""));
}

pub fn write_java_frames(report: &Report<'_>) {
    let Some(t) = JavaThread::try_current() else { return };
    let frames = NativeFrames::walk(report.crash.context());
    let is_compiled = |pc: usize| t.vm.jit.cache.covers(pc);
    let innermost = frames.iter().find(|frame| is_compiled(frame.pc));
    let innermost = innermost.map(|frame| (frame.pc, frame.fp, frame.is_return));
    let mut is_first = true;
    crashed::for_each(t, innermost, &mut |frame| {
        if std::mem::take(&mut is_first) {
            let title = "Java frames: (J=compiled Java code, j=interpreted, Vv=VM code)";
            report.out.line(format_args!("{title}"));
        }
        report.out.line(format_args!("{}", JavaFrame(&frame)));
    });
    report.out.line(format_args!(""));
}

struct JavaFrame<'f>(&'f CrashedFrame);

impl fmt::Display for JavaFrame<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CrashedFrame { method, bci, kind } = *self.0;
        let signature = Signature(method);
        match (kind, bci) {
            (Kind::Interpreted, Some(bci)) => write!(f, "j  {signature}+{bci}"),
            (Kind::Interpreted, None) => write!(f, "j  {signature}+0"),
            (Kind::Compiled { id, start, pc }, bci) => {
                write!(f, "J {id} {signature} @ {pc:#018x} [{start:#018x}+{:#x}]", pc - start)?;
                bci.map_or(Ok(()), |bci| write!(f, " bci {bci}"))
            }
            (Kind::Inlined, _) => write!(f, "J  {signature}+{} (inlined)", bci.unwrap_or(0)),
        }
    }
}

/// A frame of compiled code in the list of native frames.
pub fn write_compiled(
    f: &mut fmt::Formatter<'_>,
    vm: &'static Vm,
    pc: usize,
    is_return: bool,
) -> fmt::Result {
    match vm.jit.cache.try_find(pc + usize::from(!is_return)) {
        Some(code) => {
            let (id, start) = (code.id, code.start);
            let signature = Signature(code.body.method);
            write!(f, "J {id} {signature} @ {pc:#018x} [{start:#018x}+{:#x}]", pc - start)
        }
        None => write!(f, "v  ~compiled code {pc:#018x}"),
    }
}

/// `p.Class.method(I)V`
struct Signature(MethodRef);

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let method = self.0;
        for byte in method.holder.name.bytes() {
            f.write_char(if *byte == b'/' { '.' } else { char::from(*byte) })?;
        }
        write!(f, ".{}{}", Text(method.name().bytes()), Text(method.descriptor().bytes()))
    }
}

pub fn write_signal(report: &Report<'_>) {
    let (signal, out) = (report.crash.signal, report.out);
    // SAFETY: null, or the kernel's, on the stack of the handler, which does not return.
    let Some(info) = (unsafe { report.crash.info.as_ref() }) else { return };
    let (code, name) = (info.si_code, signal_name(signal));
    out.put(format_args!("siginfo: si_signo: {signal} ({name}), si_code: {code}"));
    if let Some(text) = code_name(signal, code) {
        out.put(format_args!(" ({text})"));
    }
    // SAFETY: fields that the kind of signal has.
    unsafe {
        if code > 0 && signal != libc::SIGABRT {
            out.line(format_args!(", si_addr: {:#018x}", info.si_addr().addr()));
        } else {
            out.line(format_args!(", si_pid: {}, si_uid: {}", info.si_pid(), info.si_uid()));
        }
    }
    out.line(format_args!(""));
}

fn code_name(signal: c_int, code: c_int) -> Option<&'static str> {
    Some(match (signal, code) {
        (libc::SIGSEGV, 1) => "SEGV_MAPERR",
        (libc::SIGSEGV, 2) => "SEGV_ACCERR",
        (libc::SIGBUS, 1) => "BUS_ADRALN",
        (libc::SIGBUS, 2) => "BUS_ADRERR",
        (libc::SIGBUS, 3) => "BUS_OBJERR",
        (libc::SIGFPE, 1) => "FPE_INTDIV",
        (libc::SIGFPE, 2) => "FPE_INTOVF",
        (libc::SIGILL, 1) => "ILL_ILLOPC",
        (libc::SIGILL, 2) => "ILL_ILLOPN",
        (libc::SIGTRAP, 1) => "TRAP_BRKPT",
        (_, libc::SI_USER) => "SI_USER",
        (_, libc::SI_TKILL) => "SI_TKILL",
        (_, 0x80) => "SI_KERNEL",
        _ => return None,
    })
}

pub fn write_registers(report: &Report<'_>) {
    let (Some(context), out) = (report.crash.context(), report.out) else { return };
    let of = |register: c_int| context.uc_mcontext.gregs[register as usize] as usize;
    out.line(format_args!("Registers:"));
    for row in NAMES.chunks(4) {
        for (index, (name, register)) in row.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            out.put(format_args!("{comma}{name:<3}={:#018x}", of(*register)));
        }
        out.line(format_args!(""));
    }
    out.line(format_args!(
        "RIP={:#018x}, EFLAGS={:#018x}, CSGSFS={:#018x}, ERR={:#018x}\n  TRAPNO={:#018x}\n",
        of(libc::REG_RIP),
        of(libc::REG_EFL),
        of(libc::REG_CSGSFS),
        of(libc::REG_ERR),
        of(libc::REG_TRAPNO)
    ));
    // SAFETY: the kernel keeps the vector registers beside the context, or says by null that it does not.
    let Some(vectors) = (unsafe { context.uc_mcontext.fpregs.as_ref() }) else { return };
    for (index, register) in vectors._xmm.iter().enumerate() {
        let [a, b, c, d] = register.element;
        out.line(format_args!("XMM[{index}]={b:#010x}{a:08x} {d:#010x}{c:08x}"));
    }
    out.line(format_args!("  MXCSR={:#010x}\n", vectors.mxcsr));
}

pub fn write_register_targets(report: &Report<'_>) {
    let (Some(context), out) = (report.crash.context(), report.out) else { return };
    out.line(format_args!("Register to memory mapping:\n"));
    for (name, register) in NAMES {
        let value = context.uc_mcontext.gregs[*register as usize] as usize;
        out.put(format_args!("{name:<3}={value:#018x} "));
        write_target(out, value);
    }
    out.line(format_args!(""));
}

/// What an address may point to.
fn write_target(out: Output, address: usize) {
    if address == 0 {
        return out.line(format_args!("is NULL"));
    }
    if let Some(vm) = state::vm() {
        if vm.heap.contains(address) {
            return out.line(format_args!("points into the Java heap, which is not read"));
        }
        if vm.jit.cache.covers(address) {
            let code = vm.jit.cache.try_find(address + 1);
            return match code {
                Some(code) => {
                    out.line(format_args!("is in code of {}", Signature(code.body.method)))
                }
                None => out.line(format_args!("is in the code cache")),
            };
        }
    }
    if let Some(t) = JavaThread::try_current() {
        if address == std::ptr::from_ref(t) as usize {
            return out.line(format_args!("is a thread"));
        }
        if t.java_stack.range().contains(&address) {
            return out.line(format_args!("points into the Java stack of the thread"));
        }
    }
    match Mapping::of(address) {
        Some(mapping) if mapping.name() == b"[stack]" => {
            out.line(format_args!("points into the stack of the main thread"));
        }
        Some(mapping) if !mapping.name().is_empty() => {
            out.line(format_args!("{}", Place { pc: address, is_return: false }));
        }
        Some(_) => match memory::word(address) {
            Some(word) => {
                out.line(format_args!("points into unknown readable memory: {word:#018x}"));
            }
            None => out.line(format_args!("points into memory that cannot be read")),
        },
        None => out.line(format_args!("is an unknown value")),
    }
}

pub fn write_top_of_stack(report: &Report<'_>) {
    let (sp, out) = (report.crash.sp() & !7, report.out);
    if report.crash.context().is_none() {
        return;
    }
    out.line(format_args!("Top of Stack: (sp={sp:#018x})"));
    for row in 0..STACK_ROWS {
        let at = sp.wrapping_add(row * 16);
        let (Some(low), Some(high)) = (memory::word(at), memory::word(at.wrapping_add(8))) else {
            break;
        };
        out.line(format_args!("{at:#018x}:   {low:016x} {high:016x}"));
    }
    out.line(format_args!(""));
}

pub fn write_instructions(report: &Report<'_>) {
    let (pc, out) = (report.crash.pc(), report.out);
    if report.crash.context().is_none() {
        return;
    }
    out.line(format_args!("Instructions: (pc={pc:#018x})"));
    let start = pc.saturating_sub(AROUND_PC);
    for row in 0..2 * AROUND_PC / 16 {
        let at = start.wrapping_add(row * 16);
        let mut bytes = [0; 16];
        let read = memory::read(at, &mut bytes);
        if read == 0 {
            continue;
        }
        out.put(format_args!("{at:#018x}:  "));
        bytes[..read].iter().for_each(|byte| out.put(format_args!(" {byte:02x}")));
        out.line(format_args!(""));
    }
    out.line(format_args!(""));
}

const NAMES: &[(&str, c_int)] = &[
    ("RAX", libc::REG_RAX),
    ("RBX", libc::REG_RBX),
    ("RCX", libc::REG_RCX),
    ("RDX", libc::REG_RDX),
    ("RSP", libc::REG_RSP),
    ("RBP", libc::REG_RBP),
    ("RSI", libc::REG_RSI),
    ("RDI", libc::REG_RDI),
    ("R8", libc::REG_R8),
    ("R9", libc::REG_R9),
    ("R10", libc::REG_R10),
    ("R11", libc::REG_R11),
    ("R12", libc::REG_R12),
    ("R13", libc::REG_R13),
    ("R14", libc::REG_R14),
    ("R15", libc::REG_R15),
];
const STACK_ROWS: usize = 32;
/// Bytes before and behind the instruction.
const AROUND_PC: usize = 256;
