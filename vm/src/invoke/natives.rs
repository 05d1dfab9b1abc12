//! The natives of `java.lang.invoke.MethodHandleNatives`.

use super::member_name::{self, Dispatch, IS_CONSTRUCTOR, IS_FIELD, IS_METHOD};
use super::resolve_member::{self, Caller};
use super::{link, types};
use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::java::{objects, reflect};
use crate::loading::{allocate, boxes, errors, link as class_link, member, strings};
use crate::machine::JavaThread;
use crate::runtime::{FieldRef, JResult, KlassRef, object};
use classfile::symbol::{Scope, Symbol};
use classfile::{BasicType, FieldType};
use gc::object::ObjectRef;
use std::sync::atomic::{Ordering, fence};

pub static METHOD_HANDLES: NativeTable = NativeTable {
    class: "java/lang/invoke/MethodHandleNatives",
    entries: &[
        entry("registerNatives", "()V", Native::Direct(nothing)),
        entry("init", "", Native::Direct(init)),
        entry("expand", "", Native::Direct(expand)),
        entry("resolve", "", Native::Direct(resolve)),
        entry("getMembers", "", Native::Direct(members)),
        entry("objectFieldOffset", "", Native::Direct(object_field_offset)),
        entry("staticFieldOffset", "", Native::Direct(static_field_offset)),
        entry("staticFieldBase", "", Native::Direct(static_field_base)),
        entry("getMemberVMInfo", "", Native::Direct(member_info)),
        entry("setCallSiteTargetNormal", "", Native::Direct(set_target)),
        entry("setCallSiteTargetVolatile", "", Native::Direct(set_target_volatile)),
        entry("copyOutBootstrapArguments", "", Native::Direct(copy_bootstrap_arguments)),
        entry("clearCallSiteContext", "", Native::Direct(nothing)),
        entry("getNamedCon", "", Native::Direct(no_named_constant)),
    ],
};

/// Compiled code that depends on call sites would be discarded here; there is no such code.
fn nothing(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

/// The library checks its constants against ours only where there are names to compare.
fn no_named_constant(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

/// `init(MemberName self, Object ref)`: from a `Field`, `Method` or `Constructor`.
fn init(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let (member, target) = (args.handle(0), args.handle(1));
    if member.is_null() || target.is_null() {
        let message = if member.is_null() { "mname is null" } else { "target is null" };
        return errors::fail(t, "java/lang/InternalError", message);
    }
    match t.klass_of(target.get()).name.bytes() {
        b"java/lang/reflect/Field" => {
            let field = reflect::field_of(t, target.get());
            member_name::set_field(t, member.get(), field, false);
            describe_field(t, args, field)?;
        }
        b"java/lang/reflect/Method" | b"java/lang/reflect/Constructor" => {
            let method = reflect::executable_of(t, target.get());
            class_link::link(t, method.holder)?;
            let dispatch = Dispatch::of(method, method.holder);
            member_name::set_method(t, member, method, dispatch, method.holder)?;
        }
        _ => {
            let message = "unrecognized reflective object";
            return errors::fail(t, "java/lang/InternalError", message);
        }
    }
    Ok(0)
}

/// `expand(MemberName self)`: fills name and type from its target.
fn expand(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let known = &t.vm.known.fields;
    let member = args.handle(0);
    if member.is_null() {
        return errors::fail(t, "java/lang/InternalError", "mname is null");
    }
    let flags: i32 = object::get(member.get(), known.member_flags());
    if flags & IS_FIELD != 0 {
        let clazz = t.load_ref(member.get(), known.member_class());
        let offset = member_name::field_offset(t, member.get());
        let is_static = flags & 8 != 0;
        if let Some(field) = field_at(t.klass_of_mirror(clazz), offset, is_static) {
            describe_field(t, args, field)?;
            return Ok(0);
        }
    } else if let Some(method) = member::method_of(t, member.get()) {
        if t.load_ref(member.get(), known.member_name()).is_null() {
            let name = objects::interned(t, method.name())?;
            t.store_ref(member.get(), known.member_name(), name);
        }
        if t.load_ref(member.get(), known.member_type()).is_null() {
            let ty = strings::from_modified_utf8(t, method.descriptor().bytes())?;
            t.store_ref(member.get(), known.member_type(), ty);
        }
        if t.load_ref(member.get(), known.member_class()).is_null() {
            t.store_ref(member.get(), known.member_class(), t.mirror(method.holder));
        }
        return Ok(0);
    }
    errors::fail(t, "java/lang/InternalError", "unrecognized type")
}

/// `MethodHandles.Lookup.UNCONDITIONAL`
const UNCONDITIONAL: i32 = 0x20;

/// `resolve(MemberName self, Class caller, int lookupMode, boolean speculative)`
fn resolve(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let known = &t.vm.known.fields;
    let member = args.handle(0);
    if member.is_null() {
        return errors::fail(t, "java/lang/InternalError", "mname is null");
    }
    let caller = args.object(1);
    let caller = (!caller.is_null()).then(|| Caller {
        klass: t.klass_of_mirror(caller),
        // A public lookup has no class whose loader would have to agree with that of the member.
        is_constrained: args.int(2) & UNCONDITIONAL == 0,
    });
    let is_speculative = args.boolean(3);
    let flags: i32 = object::get(member.get(), known.member_flags());
    match resolve_member::resolve(t, member, caller) {
        Ok(true) => return Ok(member.get().address() as u64),
        Ok(false) => {}
        Err(thrown) if is_speculative && errors::pending_is(t, "java/lang/LinkageError") => {
            t.take_pending(thrown);
        }
        Err(thrown) => return Err(thrown),
    }
    if is_speculative {
        return Ok(0);
    }
    let (class, message) = match flags & (IS_FIELD | IS_METHOD | IS_CONSTRUCTOR) {
        IS_FIELD => ("java/lang/NoSuchFieldError", "field resolution failed"),
        IS_METHOD | IS_CONSTRUCTOR => ("java/lang/NoSuchMethodError", "method resolution failed"),
        _ => ("java/lang/LinkageError", "resolution failed"),
    };
    errors::fail(t, class, message)
}

/// `getMembers(Class defc, String name, String signature, int flags, Class caller, int skip, MemberName[] results)`:
/// the number of members that match; the results are filled up to their length.
fn members(t: &JavaThread, args: Arguments) -> JResult<u64> {
    const SEARCH_SUPERCLASSES: i32 = 0x0010_0000;
    const SEARCH_INTERFACES: i32 = 0x0020_0000;
    let _names = Scope::new();
    let (name, signature) = (symbol_of(t, args.object(1)), symbol_of(t, args.object(2)));
    let (flags, results) = (args.int(3), args.handle(6));
    if args.object(0).is_null() || results.is_null() {
        return Ok(u64::MAX);
    }
    let start = t.klass_of_mirror(args.object(0));
    let mut klasses = vec![start];
    if flags & SEARCH_SUPERCLASSES != 0 {
        klasses.extend(std::iter::successors(start.super_klass, |klass| klass.super_klass));
    }
    if flags & SEARCH_INTERFACES != 0 {
        klasses.extend(start.all_interfaces.iter());
    }
    let matches = |have: Symbol, wanted: Option<Symbol>| wanted.is_none_or(|w| w == have);
    let (mut found, mut skip) = (0usize, args.int(5));
    let length = results.get().array_length();
    for klass in klasses {
        class_link::link(t, klass)?;
        let fields = klass.fields().iter().filter(|_| flags & IS_FIELD != 0);
        for field in
            fields.filter(|f| matches(f.name(), name) && matches(f.descriptor(), signature))
        {
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if found < length {
                member_name::set_field(t, t.load_element(results.get(), found), field, false);
            }
            found += 1;
        }
        for method in klass.methods() {
            let kind = if method.is_initializer() { IS_CONSTRUCTOR } else { IS_METHOD };
            let is_wanted = flags & kind != 0 && !method.is_class_initializer();
            if !is_wanted
                || !matches(method.name(), name)
                || !matches(method.descriptor(), signature)
            {
                continue;
            }
            if skip > 0 {
                skip -= 1;
                continue;
            }
            if found < length {
                let member = t.root(t.load_element(results.get(), found));
                let dispatch = Dispatch::of(method, method.holder);
                member_name::set_method(t, member, method, dispatch, method.holder)?;
            }
            found += 1;
        }
    }
    Ok(found as u64)
}

fn object_field_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    field_offset(t, args, false, "non-static field required")
}

fn static_field_offset(t: &JavaThread, args: Arguments) -> JResult<u64> {
    field_offset(t, args, true, "static field required")
}

fn field_offset(t: &JavaThread, args: Arguments, is_static: bool, complaint: &str) -> JResult<u64> {
    match field_flags(t, args) {
        Some(found_static) if found_static == is_static => {
            Ok(member_name::field_offset(t, args.object(0)) as u64)
        }
        _ => errors::fail(t, "java/lang/InternalError", complaint),
    }
}

fn static_field_base(t: &JavaThread, args: Arguments) -> JResult<u64> {
    match field_flags(t, args) {
        Some(true) => {
            let clazz = t.load_ref(args.object(0), t.vm.known.fields.member_class());
            Ok(clazz.address() as u64)
        }
        _ => errors::fail(t, "java/lang/InternalError", "static field required"),
    }
}

/// Whether the member name is a static field; `None` when it is no field.
fn field_flags(t: &JavaThread, args: Arguments) -> Option<bool> {
    const STATIC: i32 = 8;
    if args.object(0).is_null() {
        return None;
    }
    let flags: i32 = object::get(args.object(0), t.vm.known.fields.member_flags());
    (flags & IS_FIELD != 0).then_some(flags & STATIC != 0)
}

/// `getMemberVMInfo`: `{ vmindex, class of the field or the member name itself }`.
fn member_info(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if args.object(0).is_null() {
        return Ok(0);
    }
    let known = &t.vm.known.fields;
    let index: i64 = object::get(args.object(0), known.member_vmindex());
    let index = t.root(boxes::wrap(t, BasicType::Long, index as u64)?);
    let array = allocate::new_array(t, t.vm.known.object_array(), 2)?;
    t.store_element(array, 0, index.get());
    let member = args.object(0);
    let flags: i32 = object::get(member, known.member_flags());
    let is_field = flags & IS_FIELD != 0;
    let target = if is_field { t.load_ref(member, known.member_class()) } else { member };
    t.store_element(array, 1, target);
    Ok(array.address() as u64)
}

/// `setCallSiteTargetNormal(CallSite site, MethodHandle target)`
fn set_target(t: &JavaThread, args: Arguments) -> JResult<u64> {
    let site = args.object(0);
    let ty = Symbol::of("Ljava/lang/invoke/MethodHandle;");
    let field = t.vm.known.classes.call_site().declared_field(Symbol::of("target"), ty);
    let offset = field.expect("CallSite.target").offset as usize;
    t.store_ref(site, offset, args.object(1));
    Ok(0)
}

fn set_target_volatile(t: &JavaThread, args: Arguments) -> JResult<u64> {
    set_target(t, args)?;
    fence(Ordering::SeqCst);
    Ok(0)
}

/// `copyOutBootstrapArguments(Class caller, int[] { count, pool index }, int start, int end, Object[] buffer, int
/// position, boolean resolve, Object ifNotAvailable)`: arguments by number; -4 to -1 are the bootstrap method, the
/// name, the type and the number of arguments.
fn copy_bootstrap_arguments(t: &JavaThread, args: Arguments) -> JResult<u64> {
    if args.object(0).is_null() || args.object(1).is_null() || args.object(4).is_null() {
        return Err(errors::null_pointer(t));
    }
    let holder = t.klass_of_mirror(args.object(0));
    let index_info = args.object(1);
    if holder.instance().is_none() || index_info.array_length() < 2 {
        return errors::fail(t, "java/lang/InternalError", "bad index info (0)");
    }
    let index = object::element::<i32>(index_info, 1) as u16;
    let (start, end, position) = (args.int(2), args.int(3), args.int(5));
    let count = bootstrap_count(holder, index);
    let room = args.object(4).array_length() as i64;
    let is_in_range = start >= -4
        && start <= end
        && count.is_some_and(|count| end as i64 <= count as i64)
        && position >= 0
        && position as i64 + (end as i64 - start as i64) <= room;
    if !is_in_range {
        return errors::fail(t, "java/lang/InternalError", "bad index info (1)");
    }
    for at in start..end {
        let _scope = t.scope();
        let value = match bootstrap_part(t, holder, index, at) {
            Ok(value) => value,
            Err(thrown) if !args.boolean(6) => {
                t.take_pending(thrown);
                args.object(7)
            }
            Err(thrown) => return Err(thrown),
        };
        t.store_element(args.object(4), (position + at - start) as usize, value);
    }
    Ok(0)
}

fn bootstrap_count(holder: KlassRef, index: u16) -> Option<usize> {
    let file = &holder.inst().file;
    let dynamic = file.constant_pool.dynamic(index)?;
    Some(file.bootstrap_methods[dynamic.bootstrap_index as usize].arguments.len())
}

fn bootstrap_part(t: &JavaThread, holder: KlassRef, index: u16, at: i32) -> JResult<ObjectRef> {
    let file = &holder.inst().file;
    let dynamic = file.constant_pool.dynamic(index).expect("checked by the caller");
    let bootstrap = &file.bootstrap_methods[dynamic.bootstrap_index as usize];
    match at {
        -4 => link::boxed_constant(t, holder, bootstrap.method_ref),
        -3 => objects::interned(t, dynamic.name),
        -2 if dynamic.descriptor.bytes().starts_with(b"(") => {
            types::method_type(t, holder, dynamic.descriptor)
        }
        -2 => {
            let ty = FieldType::parse(dynamic.descriptor.bytes()).expect("a checked descriptor");
            Ok(t.mirror(types::class_of(t, holder, ty)?))
        }
        -1 => boxes::wrap(t, BasicType::Int, bootstrap.arguments.len() as u64),
        _ => link::boxed_constant(t, holder, bootstrap.arguments[at as usize]),
    }
}

/// Fills name and type of a member name (argument 0) that points to a field.
fn describe_field(t: &JavaThread, args: Arguments, field: FieldRef) -> JResult<()> {
    let known = &t.vm.known.fields;
    let name = objects::interned(t, field.name())?;
    t.store_ref(args.object(0), known.member_name(), name);
    let ty = FieldType::parse(field.descriptor().bytes()).expect("a checked descriptor");
    let ty = if ty.basic.is_reference() {
        strings::from_modified_utf8(t, field.descriptor().bytes())?
    } else {
        t.mirror(t.vm.known.primitive(ty.basic))
    };
    t.store_ref(args.object(0), known.member_type(), ty);
    Ok(())
}

fn field_at(klass: KlassRef, offset: i64, is_static: bool) -> Option<FieldRef> {
    let matches =
        |field: &FieldRef| field.offset as i64 == offset && field.is_static() == is_static;
    klass.fields().iter().copied().find(matches)
}

fn symbol_of(t: &JavaThread, text: ObjectRef) -> Option<Symbol> {
    (!text.is_null()).then(|| Symbol::intern(&strings::to_modified_utf8(t, text)))
}
