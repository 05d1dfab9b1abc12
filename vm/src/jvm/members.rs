//! Listing the members of a class.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jbyteArray, jclass, jobject, jobjectArray};
use crate::java::fields::{self, F};
use crate::java::{objects, reflect};
use crate::loading::{allocate, errors, link};
use crate::machine::JavaThread;
use crate::runtime::{JResult, KlassRef, MethodRef};
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredMethods(
    env: Env,
    class: jclass,
    public_only: jboolean,
) -> jobjectArray {
    env.enter(|t| {
        let wanted = |m: &MethodRef| !m.is_initializer() && !m.is_class_initializer();
        let methods = methods_of(t, entry::klass(t, class)?, public_only != 0, wanted)?;
        collect(t, "java/lang/reflect/Method", &methods, reflect::new_method)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredConstructors(
    env: Env,
    class: jclass,
    public_only: jboolean,
) -> jobjectArray {
    env.enter(|t| {
        let wanted = |m: &MethodRef| m.is_initializer();
        let methods = methods_of(t, entry::klass(t, class)?, public_only != 0, wanted)?;
        collect(t, "java/lang/reflect/Constructor", &methods, reflect::new_constructor)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetClassDeclaredFields(
    env: Env,
    class: jclass,
    public_only: jboolean,
) -> jobjectArray {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        link::link(t, klass)?;
        let wanted =
            |f: &&crate::runtime::Field| public_only == 0 || f.info.access_flags.is_public();
        let found: Vec<_> = klass.fields().iter().copied().filter(wanted).collect();
        collect(t, "java/lang/reflect/Field", &found, reflect::new_field)
    })
}

/// `Parameter[]`, or null where the class file has no `MethodParameters`.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodParameters(env: Env, executable: jobject) -> jobjectArray {
    env.enter(|t| {
        let executable = entry::non_null(t, executable)?;
        let method = reflect::executable_of(t, executable.get());
        let Some(parameters) = method.info.parameters() else {
            return Ok(ObjectRef::NULL);
        };
        let pool = &method.holder.inst().file.constant_pool;
        let is_bad = |index: u16| index != 0 && pool.utf8(index).is_none();
        if parameters.iter().any(|p| is_bad(p.name_index)) {
            return malformed(t, "Wrong type at constant pool index");
        }
        let class = objects::boot_class(t, "java/lang/reflect/Parameter")?;
        let array = allocate::new_object_array(t, class, parameters.len() as i32)?;
        let array = t.root(array);
        for (i, info) in parameters.iter().enumerate() {
            let _scope = t.scope();
            let name = match pool.utf8(info.name_index) {
                Some(name) => objects::interned(t, name)?,
                None => ObjectRef::NULL,
            };
            let name = t.root(name);
            let parameter = allocate::new_instance(t, class)?;
            fields::put_ref(t, parameter, F::ParameterName, name.get());
            let modifiers = i32::from(info.access_flags.bits());
            fields::put(t, parameter, F::ParameterModifiers, modifiers);
            fields::put_ref(t, parameter, F::ParameterExecutable, executable.get());
            fields::put(t, parameter, F::ParameterIndex, i as i32);
            t.store_element(array.get(), i, parameter);
        }
        Ok(array.get())
    })
}

fn malformed<T>(t: &JavaThread, message: &str) -> JResult<T> {
    errors::fail(t, "java/lang/reflect/MalformedParametersException", message)
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetMethodTypeAnnotations(env: Env, executable: jobject) -> jbyteArray {
    env.enter(|t| {
        let executable = entry::non_null(t, executable)?.get();
        let method = reflect::executable_of(t, executable);
        objects::byte_array(t, method.info.type_annotations())
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_GetFieldTypeAnnotations(env: Env, field: jobject) -> jbyteArray {
    env.enter(|t| {
        let field = reflect::field_of(t, entry::non_null(t, field)?.get());
        objects::byte_array(t, field.info.type_annotations())
    })
}

fn methods_of(
    t: &JavaThread,
    klass: KlassRef,
    public_only: bool,
    wanted: impl Fn(&MethodRef) -> bool,
) -> JResult<Vec<MethodRef>> {
    link::link(t, klass)?;
    let visible = |m: &MethodRef| !public_only || m.flags().is_public();
    Ok(klass.methods().iter().copied().filter(visible).filter(wanted).collect())
}

/// An array of the results of `make` for each item.
fn collect<T: Copy>(
    t: &JavaThread,
    class: &str,
    items: &[T],
    make: impl Fn(&JavaThread, T) -> JResult<ObjectRef>,
) -> JResult<ObjectRef> {
    let class = objects::boot_class(t, class)?;
    let array = allocate::new_object_array(t, class, items.len() as i32)?;
    let array = t.root(array);
    for (i, item) in items.iter().enumerate() {
        let _scope = t.scope();
        let object = make(t, *item)?;
        t.store_element(array.get(), i, object);
    }
    Ok(array.get())
}
