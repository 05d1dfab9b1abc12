//! `jdk.internal.reflect.ConstantPool`: reflection's view of a class's constants, for annotations. The object
//! that the library passes back as `constantPoolOop` is the class's mirror.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{
    jbyte, jclass, jdouble, jfloat, jint, jlong, jobject, jobjectArray, jstring,
};
use crate::java::{objects, reflect};
use crate::loading::resolve::{self, Invoke};
use crate::loading::{allocate, errors, lookup, strings};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef};
use classfile::symbol::Symbol;
use classfile::{ConstantPool, CpEntry, tag};
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassConstantPool(env: Env, class: jclass) -> jobject {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        if klass.instance().is_none() {
            return Ok(ObjectRef::NULL);
        }
        let pool_klass = t.vm.known.classes.constant_pool();
        crate::loading::initialize::initialize(t, pool_klass)?;
        let pool = allocate::new_instance(t, pool_klass)?;
        let offset = pool_klass.offset_of("constantPoolOop", "Ljava/lang/Object;");
        t.store_ref(pool, offset, t.mirror(klass));
        Ok(pool)
    })
}

/// The class of a pool object, with the index checked.
fn checked(t: &JavaThread, pool: jobject, index: jint) -> JResult<(KlassRef, u16)> {
    let klass = t.klass_of_mirror(entry::resolve(t, pool));
    let length = constants(klass).len();
    match u16::try_from(index) {
        Ok(small) if (small as usize) < length => Ok((klass, small)),
        _ => errors::fail(t, ILLEGAL, "Constant pool index out of bounds"),
    }
}

fn constants(klass: KlassRef) -> &'static ConstantPool {
    // SAFETY: a class's file lives as long as the class, which the caller has in hand.
    unsafe { &*std::ptr::from_ref(&klass.inst().file.constant_pool) }
}

fn wrong_type<T>(t: &JavaThread) -> JResult<T> {
    errors::fail(t, ILLEGAL, "Wrong type at constant pool index")
}

/// An entry for which `pick` has an answer.
fn pick<T>(
    t: &JavaThread,
    pool: jobject,
    index: jint,
    pick: impl FnOnce(CpEntry) -> Option<T>,
) -> JResult<T> {
    let (klass, index) = checked(t, pool, index)?;
    match pick(constants(klass).entry(index)) {
        Some(value) => Ok(value),
        None => wrong_type(t),
    }
}

#[unsafe(no_mangle)]
extern "C" fn JVM_ConstantPoolGetSize(env: Env, _unused: jobject, pool: jobject) -> jint {
    env.enter(|t| Ok(constants(t.klass_of_mirror(entry::resolve(t, pool))).len() as jint))
}

fn class_at(t: &JavaThread, pool: jobject, index: jint, load: bool) -> JResult<ObjectRef> {
    let (klass, index) = checked(t, pool, index)?;
    if constants(klass).tag(index) != tag::CLASS {
        return wrong_type(t);
    }
    let found = class_of(t, klass, index, load)?;
    Ok(found.map_or(ObjectRef::NULL, |found| t.mirror(found)))
}

/// The class of a constant; when it shall not be loaded, only if it is loaded already.
fn class_of(t: &JavaThread, klass: KlassRef, index: u16, load: bool) -> JResult<Option<KlassRef>> {
    match load {
        true => resolve::resolve_class(t, klass, index).map(Some),
        false => Ok(loaded_class(klass, index)),
    }
}

fn loaded_class(klass: KlassRef, index: u16) -> Option<KlassRef> {
    let known = klass.inst().pool.entry(index).klass();
    known.or_else(|| lookup::find_loaded(klass.loader, constants(klass).class_name(index)?))
}

fn method_at(t: &JavaThread, pool: jobject, index: jint, load: bool) -> JResult<ObjectRef> {
    let (klass, index) = checked(t, pool, index)?;
    let constants = constants(klass);
    let is_method = matches!(
        constants.entry(index),
        CpEntry::Methodref { .. } | CpEntry::InterfaceMethodref { .. }
    );
    let Some(member) = constants.member(index).filter(|_| is_method) else {
        return wrong_type(t);
    };
    let Some(holder) = class_of(t, klass, member.class_index, load)? else {
        return Ok(ObjectRef::NULL);
    };
    let found = resolve::find_method_anywhere(t, holder, member.name, member.descriptor);
    match found {
        Some(method) => reflect::new_executable(t, method),
        None if load => {
            // The resolution that fails says why.
            resolve::resolve_method(t, klass, index, Invoke::Virtual)?;
            Ok(ObjectRef::NULL)
        }
        None => Ok(ObjectRef::NULL),
    }
}

fn field_at(t: &JavaThread, pool: jobject, index: jint, load: bool) -> JResult<ObjectRef> {
    let (klass, index) = checked(t, pool, index)?;
    let constants = constants(klass);
    if constants.tag(index) != tag::FIELDREF {
        return wrong_type(t);
    }
    let member = constants.member(index).expect("a field reference is a member reference");
    let Some(holder) = class_of(t, klass, member.class_index, load)? else {
        return Ok(ObjectRef::NULL);
    };
    match holder.find_field(member.name, member.descriptor) {
        Some(field) => reflect::new_field(t, field),
        None if load => errors::fail(t, "java/lang/NoSuchFieldError", &member.name.text()),
        None => Ok(ObjectRef::NULL),
    }
}

fn texts(symbols: &[Symbol]) -> Vec<String> {
    symbols.iter().map(|symbol| symbol.text().into_owned()).collect()
}

/// Functions of a pool and an index, for `JVM_ConstantPoolGet...`.
macro_rules! getters {
    ($($name:ident = |$t:ident, $pool:ident, $index:ident| -> $result:ty $body:block)+) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(env: Env, _unused: jobject, $pool: jobject, $index: jint) -> $result {
            env.enter(|$t| $body)
        }
    )+};
}

getters! {
    JVM_ConstantPoolGetClassAt = |t, pool, index| -> jclass {
        class_at(t, pool, index, true)
    }

    JVM_ConstantPoolGetClassAtIfLoaded = |t, pool, index| -> jclass {
        class_at(t, pool, index, false)
    }

    JVM_ConstantPoolGetClassRefIndexAt = |t, pool, index| -> jint {
        let (klass, index) = checked(t, pool, index)?;
        match constants(klass).member(index) {
            Some(member) => Ok(member.class_index as jint),
            None => wrong_type(t),
        }
    }

    JVM_ConstantPoolGetMethodAt = |t, pool, index| -> jobject {
        method_at(t, pool, index, true)
    }

    JVM_ConstantPoolGetMethodAtIfLoaded = |t, pool, index| -> jobject {
        method_at(t, pool, index, false)
    }

    JVM_ConstantPoolGetFieldAt = |t, pool, index| -> jobject {
        field_at(t, pool, index, true)
    }

    JVM_ConstantPoolGetFieldAtIfLoaded = |t, pool, index| -> jobject {
        field_at(t, pool, index, false)
    }

    JVM_ConstantPoolGetMemberRefInfoAt = |t, pool, index| -> jobjectArray {
        let (klass, index) = checked(t, pool, index)?;
        let constants = constants(klass);
        let Some(member) = constants.member(index) else {
            return wrong_type(t);
        };
        let class = constants.class_name(member.class_index).expect("checked when parsed");
        objects::string_array(t, &texts(&[class, member.name, member.descriptor]))
    }

    JVM_ConstantPoolGetNameAndTypeRefIndexAt = |t, pool, index| -> jint {
        pick(t, pool, index, |entry| match entry {
            CpEntry::Fieldref { name_and_type_index, .. }
            | CpEntry::Methodref { name_and_type_index, .. }
            | CpEntry::InterfaceMethodref { name_and_type_index, .. }
            | CpEntry::InvokeDynamic { name_and_type_index, .. } => {
                Some(name_and_type_index as jint)
            }
            _ => None,
        })
    }

    JVM_ConstantPoolGetNameAndTypeRefInfoAt = |t, pool, index| -> jobjectArray {
        let (name, descriptor) = pick(t, pool, index, |entry| match entry {
            CpEntry::NameAndType { name, descriptor } => Some((name, descriptor)),
            _ => None,
        })?;
        objects::string_array(t, &texts(&[name, descriptor]))
    }

    JVM_ConstantPoolGetIntAt = |t, pool, index| -> jint {
        pick(t, pool, index, |entry| match entry {
            CpEntry::Integer(value) => Some(value),
            _ => None,
        })
    }

    JVM_ConstantPoolGetLongAt = |t, pool, index| -> jlong {
        pick(t, pool, index, |entry| match entry {
            CpEntry::Long(value) => Some(value),
            _ => None,
        })
    }

    JVM_ConstantPoolGetFloatAt = |t, pool, index| -> jfloat {
        pick(t, pool, index, |entry| match entry {
            CpEntry::Float(bits) => Some(f32::from_bits(bits)),
            _ => None,
        })
    }

    JVM_ConstantPoolGetDoubleAt = |t, pool, index| -> jdouble {
        pick(t, pool, index, |entry| match entry {
            CpEntry::Double(bits) => Some(f64::from_bits(bits)),
            _ => None,
        })
    }

    JVM_ConstantPoolGetStringAt = |t, pool, index| -> jstring {
        let (klass, index) = checked(t, pool, index)?;
        match constants(klass).tag(index) {
            tag::STRING => crate::invoke::resolve_object(t, klass, index),
            _ => wrong_type(t),
        }
    }

    JVM_ConstantPoolGetUTF8At = |t, pool, index| -> jstring {
        let text = pick(t, pool, index, |entry| match entry {
            CpEntry::Utf8(text) => Some(text),
            _ => None,
        })?;
        strings::from_modified_utf8(t, text.bytes())
    }

    JVM_ConstantPoolGetTagAt = |t, pool, index| -> jbyte {
        let (klass, index) = checked(t, pool, index)?;
        Ok(constants(klass).tag(index) as jbyte)
    }
}

const ILLEGAL: &str = "java/lang/IllegalArgumentException";
