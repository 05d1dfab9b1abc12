//! The VM's functions for libverify, the type-inferring verifier for class files before version 50.
//!
//! Indices come from libverify's own loops over the counts that these functions return, so one out of range
//! is a broken invariant and panics.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jclass, jint};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};
use classfile::symbol::Symbol;
use classfile::{CpEntry, MethodInfo};
use libc::{c_char, c_uchar, c_ushort};

/// `JVM_ExceptionTableEntryType`.
#[repr(C)]
struct ExceptionTableEntry {
    start_pc: jint,
    end_pc: jint,
    handler_pc: jint,
    catch_type: jint,
}

fn method(klass: KlassRef, index: jint) -> &'static MethodInfo {
    klass.methods()[index as usize].info
}

/// Answers a question about a class with a number.
fn ask(env: Env, class: jclass, question: impl FnOnce(KlassRef) -> jint) -> jint {
    env.enter(|t| Ok(question(entry::klass(t, class)?)))
}

/// Answers a question about a method with a number.
fn ask_method(
    env: Env,
    class: jclass,
    index: jint,
    question: impl FnOnce(&'static MethodInfo) -> jint,
) -> jint {
    ask(env, class, |klass| question(method(klass, index)))
}

/// Answers a question about a class with a name. Names are never freed.
fn name_of(
    env: Env,
    class: jclass,
    question: impl FnOnce(&JavaThread, KlassRef) -> Symbol,
) -> *const c_char {
    env.enter(|t| Ok(question(t, entry::klass(t, class)?).c_ptr()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassNameUTF(env: Env, class: jclass) -> *const c_char {
    name_of(env, class, |_, klass| klass.name)
}

/// Names are interned and stay: there is nothing to release.
#[unsafe(no_mangle)]
extern "C" fn JVM_ReleaseUTF(_name: *const c_char) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassCPEntriesCount(env: Env, class: jclass) -> jint {
    ask(env, class, |klass| klass.inst().file.constant_pool.len() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassCPTypes(env: Env, class: jclass, types: *mut c_uchar) {
    ask(env, class, |klass| {
        let pool = &klass.inst().file.constant_pool;
        for index in 0..pool.len() {
            // SAFETY: the caller made room for JVM_GetClassCPEntriesCount bytes.
            unsafe { types.add(index).write(pool.tag(index as u16)) };
        }
        0
    });
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassFieldsCount(env: Env, class: jclass) -> jint {
    ask(env, class, |klass| klass.fields().len() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassMethodsCount(env: Env, class: jclass) -> jint {
    ask(env, class, |klass| klass.methods().len() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetFieldIxModifiers(env: Env, class: jclass, index: jint) -> jint {
    ask(env, class, |klass| klass.fields()[index as usize].info.access_flags.bits() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxModifiers(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |method| method.access_flags.bits() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxExceptionsCount(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |method| method.exceptions().len() as jint)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxExceptionIndexes(
    env: Env,
    class: jclass,
    index: jint,
    exceptions: *mut c_ushort,
) {
    ask_method(env, class, index, |method| {
        for (at, exception) in method.exceptions().iter().enumerate() {
            // SAFETY: the caller made room for JVM_GetMethodIxExceptionsCount indices.
            unsafe { exceptions.add(at).write(*exception) };
        }
        0
    });
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxByteCodeLength(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |m| m.code.as_ref().map_or(0, |code| code.bytecode.len() as jint))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxByteCode(env: Env, class: jclass, index: jint, code: *mut c_uchar) {
    ask_method(env, class, index, |method| {
        let bytes = method.code.as_ref().map_or(&[][..], |code| &code.bytecode);
        // SAFETY: the caller made room for JVM_GetMethodIxByteCodeLength bytes.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), code, bytes.len()) };
        0
    });
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxExceptionTableLength(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |m| {
        m.code.as_ref().map_or(0, |code| code.exception_table.len() as jint)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxExceptionTableEntry(
    env: Env,
    class: jclass,
    index: jint,
    entry_index: jint,
    out: *mut ExceptionTableEntry,
) {
    ask_method(env, class, index, |method| {
        let code = method.code.as_ref().expect("a handler is in code");
        let handler = code.exception_table[entry_index as usize];
        let entry = ExceptionTableEntry {
            start_pc: handler.start_pc.into(),
            end_pc: handler.end_pc.into(),
            handler_pc: handler.handler_pc.into(),
            catch_type: handler.catch_type.into(),
        };
        // SAFETY: the caller passes a record to fill.
        unsafe { out.write(entry) };
        0
    });
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxLocalsCount(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |m| m.code.as_ref().map_or(0, |code| code.max_locals.into()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxArgsSize(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |method| method.argument_slots.into())
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxMaxStack(env: Env, class: jclass, index: jint) -> jint {
    ask_method(env, class, index, |m| m.code.as_ref().map_or(0, |code| code.max_stack.into()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsConstructorIx(env: Env, class: jclass, index: jint) -> jboolean {
    ask_method(env, class, index, |m| (m.name.bytes() == b"<init>").into()) as jboolean
}

/// The VM adds no methods of its own to classes.
#[unsafe(no_mangle)]
extern "C" fn JVM_IsVMGeneratedMethodIx(_env: Env, _class: jclass, _index: jint) -> jboolean {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    name_of(env, class, |_, klass| method(klass, index).name)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodIxSignatureUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    name_of(env, class, |_, klass| method(klass, index).descriptor)
}

/// The name, descriptor or class name of a member reference of a class's pool.
fn member_part(
    env: Env,
    class: jclass,
    index: jint,
    part: impl FnOnce(classfile::MemberRef, KlassRef) -> Symbol,
) -> *const c_char {
    name_of(env, class, |_, klass| {
        let member = klass.inst().file.constant_pool.member(index as u16);
        part(member.expect("libverify asks for members by their tags"), klass)
    })
}

fn class_of_member(member: classfile::MemberRef, klass: KlassRef) -> Symbol {
    let name = klass.inst().file.constant_pool.class_name(member.class_index);
    name.expect("a member reference names a class: checked when parsed")
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPFieldNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    member_part(env, class, index, |member, _| member.name)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPMethodNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    name_of(env, class, |_, klass| {
        let pool = &klass.inst().file.constant_pool;
        let index = index as u16;
        let name = pool.member(index).map(|member| member.name);
        name.or(pool.dynamic(index).map(|site| site.name)).expect("a method or call site")
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPFieldSignatureUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    member_part(env, class, index, |member, _| member.descriptor)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPMethodSignatureUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    name_of(env, class, |_, klass| {
        let descriptor = klass.inst().file.constant_pool.descriptor(index as u16);
        descriptor.expect("a method or call site")
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPClassNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    name_of(env, class, |_, klass| match klass.inst().file.constant_pool.entry(index as u16) {
        CpEntry::Class { name, .. } => name,
        other => panic!("libverify asks for the class name of {other:?}"),
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPFieldClassNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    member_part(env, class, index, class_of_member)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPMethodClassNameUTF(env: Env, class: jclass, index: jint) -> *const c_char {
    member_part(env, class, index, class_of_member)
}

/// Flags of the field that a reference of `class` names, as declared by `called`; -1 when it declares none.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPFieldModifiers(
    env: Env,
    class: jclass,
    index: jint,
    called: jclass,
) -> jint {
    env.enter(|t| {
        let (member, called) = member_and_class(t, class, index, called)?;
        let field = called.declared_field(member.name, member.descriptor);
        Ok(field.map_or(-1, |field| field.info.access_flags.bits() as jint))
    })
}

/// As [`JVM_GetCPFieldModifiers`] for methods.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetCPMethodModifiers(
    env: Env,
    class: jclass,
    index: jint,
    called: jclass,
) -> jint {
    env.enter(|t| {
        let (member, called) = member_and_class(t, class, index, called)?;
        let method = called.declared_method(member.name, member.descriptor);
        Ok(method.map_or(-1, |method| method.flags().bits() as jint))
    })
}

fn member_and_class(
    t: &JavaThread,
    class: jclass,
    index: jint,
    called: jclass,
) -> JResult<(classfile::MemberRef, KlassRef)> {
    let klass = entry::klass(t, class)?;
    let member = klass.inst().file.constant_pool.member(index as u16);
    Ok((member.expect("libverify asks for members by their tags"), entry::klass(t, called)?))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsSameClassPackage(env: Env, one: jclass, other: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, one)?.same_package(entry::klass(t, other)?)))
}
