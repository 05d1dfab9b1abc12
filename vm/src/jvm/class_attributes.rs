//! The parts of a class's attributes that reflection uses: modifiers, nesting, records, annotations.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jbyteArray, jclass, jint, jobjectArray, jstring};
use crate::java::fields::{self, F};
use crate::java::{objects, reflect};
use crate::loading::{allocate, errors, initialize, nest, resolve};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, KlassKind, KlassRef};
use classfile::symbol::{Scope, Symbol};
use classfile::{AccessFlags, FieldType, InnerClass};
use gc::object::ObjectRef;

/// `Class.getModifiers`: as the source has them, which `InnerClasses` records.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassModifiers(env: Env, class: jclass) -> jint {
    env.enter(|t| Ok(i32::from(modifiers(entry::klass(t, class)?).bits())))
}

/// The flags of the class file.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassAccessFlags(env: Env, class: jclass) -> jint {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let flags = match klass.kind {
            KlassKind::Primitive(_) => PRIMITIVE_MODIFIERS,
            _ => klass.flags,
        };
        Ok(i32::from(flags.bits() & WRITTEN_FLAGS))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetDeclaredClasses(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let mut members = Vec::new();
        for inner in inner_classes(klass) {
            if class_name(klass, inner.outer_class) != Some(klass.name) {
                continue;
            }
            let outer = resolve::resolve_class(t, klass, inner.outer_class)?;
            if outer == klass {
                let member = resolve::resolve_class(t, klass, inner.inner_class)?;
                check_agreement(t, klass, member, true)?;
                members.push(member);
            }
        }
        objects::class_array(t, &members)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetDeclaringClass(env: Env, class: jclass) -> jclass {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        match own_entry(klass) {
            Some(own) if own.outer_class != 0 => {
                let outer = resolve::resolve_class(t, klass, own.outer_class)?;
                check_agreement(t, outer, klass, true)?;
                Ok(t.mirror(outer))
            }
            _ => Ok(ObjectRef::NULL),
        }
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetSimpleBinaryName(env: Env, class: jclass) -> jstring {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        objects::string_or_null(t, own_entry(klass).and_then(|own| own.inner_name))
    })
}

/// Class, method name and method descriptor of the `EnclosingMethod` attribute, or null.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetEnclosingMethodInfo(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let Some(enclosing) = klass.instance().and_then(|i| i.file.enclosing_method) else {
            return Ok(ObjectRef::NULL);
        };
        let outer = resolve::resolve_class(t, klass, enclosing.class_index)?;
        let info = allocate::new_object_array(t, t.vm.known.classes.object(), 3)?;
        let info = t.root(info);
        t.store_element(info.get(), 0, t.mirror(outer));
        let pool = &klass.inst().file.constant_pool;
        if let Some((name, descriptor)) = pool.name_and_type(enclosing.method_index) {
            let name = objects::interned(t, name)?;
            t.store_element(info.get(), 1, name);
            let descriptor = objects::interned(t, descriptor)?;
            t.store_element(info.get(), 2, descriptor);
        }
        Ok(info.get())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassSignature(env: Env, class: jclass) -> jstring {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        objects::string_or_null(t, klass.instance().and_then(|i| i.file.signature))
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassAnnotations(env: Env, class: jclass) -> jbyteArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let bytes = klass.instance().and_then(|i| i.file.annotations.visible.as_deref());
        objects::byte_array(t, bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassTypeAnnotations(env: Env, class: jclass) -> jbyteArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let bytes = klass.instance().and_then(|i| i.file.annotations.visible_type.as_deref());
        objects::byte_array(t, bytes)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AreNestMates(env: Env, class: jclass, other: jclass) -> jboolean {
    env.enter(|t| {
        let (class, other) = (entry::klass(t, class)?, entry::klass(t, other)?);
        nest::are_mates(t, class, other)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetNestHost(env: Env, class: jclass) -> jclass {
    env.enter(|t| {
        let host = nest::host(t, entry::klass(t, class)?)?;
        Ok(t.mirror(host))
    })
}

/// The host first. Members that cannot be loaded, or do not agree, are left out.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetNestMembers(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let host = nest::host(t, entry::klass(t, class)?)?;
        let mut members = vec![host];
        for index in host.instance().map_or(&[][..], |i| &i.file.nest_members[..]) {
            if let Some(member) = class_or_skip(t, host, *index)?
                && nest::host(t, member)? == host
            {
                members.push(member);
            }
        }
        objects::class_array(t, &members)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetPermittedSubclasses(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let permitted = klass.instance().and_then(|i| i.file.permitted_subclasses.as_deref());
        let Some(permitted) = permitted.filter(|list| !list.is_empty()) else {
            return Ok(ObjectRef::NULL);
        };
        let mut subclasses = Vec::new();
        for index in permitted {
            if let Some(subclass) = class_or_skip(t, klass, *index)?
                && subclass.instance().is_some()
            {
                subclasses.push(subclass);
            }
        }
        objects::class_array(t, &subclasses)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsRecord(env: Env, class: jclass) -> jboolean {
    env.enter(|t| Ok(entry::klass(t, class)?.is_record()))
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetRecordComponents(env: Env, class: jclass) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let component_class = objects::boot_class(t, "java/lang/reflect/RecordComponent")?;
        let file = &klass.inst().file;
        let count = file.record.as_deref().map_or(0, <[_]>::len);
        let array = allocate::new_object_array(t, component_class, count as i32)?;
        let array = t.root(array);
        for i in 0..count {
            let _scope = t.scope();
            let component = record_component(t, klass, component_class, i)?;
            t.store_element(array.get(), i, component.get());
        }
        Ok(array.get())
    })
}

fn record_component(
    t: &JavaThread,
    klass: KlassRef,
    component_class: KlassRef,
    index: usize,
) -> JResult<Handle> {
    let record = klass.inst().file.record.as_deref().unwrap_or_default();
    let info = &record[index];
    initialize::initialize(t, component_class)?;
    let component = t.root(allocate::new_instance(t, component_class)?);
    fields::put_ref(t, component.get(), F::ComponentClazz, t.mirror(klass));
    let name = objects::interned(t, info.name)?;
    fields::put_ref(t, component.get(), F::ComponentName, name);
    let ty = FieldType::parse(info.descriptor.bytes()).expect("checked when parsed");
    let ty = objects::class_of_type(t, klass.loader, ty)?;
    fields::put_ref(t, component.get(), F::ComponentType, t.mirror(ty));
    let _names = Scope::new();
    let descriptor = Symbol::intern(&[b"()", info.descriptor.bytes()].concat());
    if let Some(accessor) = klass.declared_method(info.name, descriptor).filter(|m| !m.is_static())
    {
        let accessor = reflect::new_method(t, accessor)?;
        fields::put_ref(t, component.get(), F::ComponentAccessor, accessor);
    }
    if let Some(signature) = info.signature {
        let signature = objects::interned(t, signature)?;
        fields::put_ref(t, component.get(), F::ComponentSignature, signature);
    }
    let annotations = objects::byte_array(t, info.annotations.visible.as_deref())?;
    fields::put_ref(t, component.get(), F::ComponentAnnotations, annotations);
    let annotations = objects::byte_array(t, info.annotations.visible_type.as_deref())?;
    fields::put_ref(t, component.get(), F::ComponentTypeAnnotations, annotations);
    Ok(component)
}

/// The class of a constant; `None` when it cannot be resolved, unless the VM itself is in trouble.
fn class_or_skip(t: &JavaThread, holder: KlassRef, index: u16) -> JResult<Option<KlassRef>> {
    match resolve::resolve_class(t, holder, index) {
        Ok(klass) => Ok(Some(klass)),
        Err(thrown) => {
            let exception = t.take_pending(thrown);
            if objects::is_instance_of(t, exception, "java/lang/VirtualMachineError") {
                return Err(t.throw_object(exception));
            }
            Ok(None)
        }
    }
}

/// Modifiers as the source has them.
pub fn modifiers(klass: KlassRef) -> AccessFlags {
    let flags = match klass.kind {
        KlassKind::Primitive(_) => return PRIMITIVE_MODIFIERS,
        KlassKind::PrimitiveArray { .. } => return PRIMITIVE_MODIFIERS,
        KlassKind::ObjectArray { component } => {
            let element = modifiers(component);
            let visibility = AccessFlags::PUBLIC | AccessFlags::PRIVATE | AccessFlags::PROTECTED;
            // Nested array types keep the modifiers of their element.
            let kept = if component.is_array() { element } else { element & visibility };
            return kept | AccessFlags::FINAL | AccessFlags::ABSTRACT;
        }
        KlassKind::Instance(_) => own_entry(klass).map_or(klass.flags, |own| own.access_flags),
    };
    AccessFlags::from_class_file(flags.difference(AccessFlags::SUPER).bits() & WRITTEN_FLAGS)
}

fn inner_classes(klass: KlassRef) -> &'static [InnerClass] {
    match &klass.kind {
        KlassKind::Instance(instance) => &instance.file.inner_classes,
        _ => &[],
    }
}

/// The entry of `InnerClasses` that is about the class itself.
fn own_entry(klass: KlassRef) -> Option<&'static InnerClass> {
    let is_own = |inner: &&InnerClass| class_name(klass, inner.inner_class) == Some(klass.name);
    inner_classes(klass).iter().find(is_own)
}

fn class_name(klass: KlassRef, index: u16) -> Option<Symbol> {
    klass.inst().file.constant_pool.class_name(index)
}

/// Both classes must say that one is a member of the other: the names in `InnerClasses` of `outer` must mean these
/// very classes. A safepoint.
fn check_agreement(
    t: &JavaThread,
    outer: KlassRef,
    inner: KlassRef,
    is_member: bool,
) -> JResult<()> {
    for entry in inner_classes(outer) {
        let is_named = class_name(outer, entry.inner_class) == Some(inner.name)
            && (!is_member || class_name(outer, entry.outer_class) == Some(outer.name));
        if is_named && resolve::resolve_class(t, outer, entry.inner_class)? == inner {
            return Ok(());
        }
    }
    let message = format!(
        "{} and {} disagree on InnerClasses attribute",
        outer.java_name(),
        inner.java_name()
    );
    errors::fail(t, "java/lang/IncompatibleClassChangeError", &message)
}

const PRIMITIVE_MODIFIERS: AccessFlags =
    AccessFlags::PUBLIC.union(AccessFlags::ABSTRACT).union(AccessFlags::FINAL);

/// Bits that class files define.
const WRITTEN_FLAGS: u16 = 0x7fff;
