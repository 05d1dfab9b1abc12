//! Which static final fields compiled code may take for constants, and their values.
//!
//! Left out are the three streams of `java.lang.System`, which its natives replace, and classes of old versions whose
//! methods store to their own final statics (allowed below version 53; see [`resolve`](super::resolve)).

use super::constant_handle;
use crate::machine::JavaThread;
use crate::runtime::constants::{Constant, ConstantObject};
use crate::runtime::klass::{Field, Klass};
use crate::runtime::slots;
use classfile::BasicType;
use classfile::bytecode::{Instructions, op};
use gc::object::ObjectRef;

/// The constants of a class that was initialized just now, by the fields' slots; nothing if it has none. The thread
/// runs Java code; no safepoint.
pub fn constants_of(t: &JavaThread, klass: &'static Klass) -> Box<[Option<Constant>]> {
    if !klass.fields().iter().any(|field| is_kept(field)) || stores_to_finals(klass) {
        return Box::default();
    }
    let mut constants: Vec<Option<Constant>> = klass.fields().iter().map(|_| None).collect();
    let mirror = t.mirror(klass);
    for field in klass.fields().iter().filter(|field| is_kept(field)) {
        let value = slots::get(t, mirror, field.offset as usize, field.ty);
        constants[field.slot as usize] = Some(match field.ty {
            BasicType::Object | BasicType::Array => {
                let object = ObjectRef::from_address(value as usize);
                let slot = klass.holder.roots.lock().take();
                t.store_root(slot, object);
                let handle = constant_handle::of(t, object, klass.holder).map(Box::new);
                Constant::Object(ConstantObject { slot, handle })
            }
            _ => Constant::Bits(value),
        });
    }
    constants.into_boxed_slice()
}

/// Constants of the class file are not: compilers put them where they are used.
fn is_kept(field: &Field) -> bool {
    let is_final = field.is_static() && field.info.access_flags.is_final();
    is_final
        && field.info.constant_value.is_none()
        && field.holder.name.bytes() != b"java/lang/System"
}

/// Whether a method other than the initializer stores to a final static of its class.
fn stores_to_finals(klass: &'static Klass) -> bool {
    const STRICT_SINCE: u16 = 53;
    let file = &klass.inst().file;
    if file.major_version >= STRICT_SINCE {
        return false;
    }
    let is_final = |index: u16| {
        let member = file.constant_pool.member(index);
        let field = member.and_then(|member| klass.declared_field(member.name, member.descriptor));
        field.is_some_and(|field| field.is_static() && field.info.access_flags.is_final())
    };
    let others = klass.methods().iter().filter(|method| method.name().bytes() != b"<clinit>");
    others.filter_map(|method| method.code()).any(|code| {
        Instructions::new(&code.bytecode)
            .flatten()
            .any(|at| at.opcode == op::PUTSTATIC && is_final(at.pool_index()))
    })
}
