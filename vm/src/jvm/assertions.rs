//! `-ea` and its kin, as the class library asks for them.

use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jclass, jobject};
use crate::java::fields::{self, F};
use crate::java::objects;
use crate::loading::allocate;
use crate::machine::JavaThread;
use crate::runtime::{JResult, object};
use classfile::BasicType;
use gc::object::ObjectRef;

#[unsafe(no_mangle)]
extern "C" fn JVM_DesiredAssertionStatus(env: Env, _unused: jclass, class: jclass) -> jboolean {
    env.enter(|t| {
        let klass = entry::klass(t, class)?;
        let assertions = &t.vm.options.assertions;
        Ok(match klass.loader.is_boot() {
            true => assertions.system,
            false => assertions.enabled(&klass.java_name()),
        })
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_AssertionStatusDirectives(env: Env, _unused: jclass) -> jobject {
    env.enter(|t| {
        let class = objects::boot_class(t, "java/lang/AssertionStatusDirectives")?;
        let directives = allocate::new_instance(t, class)?;
        let directives = t.root(directives);
        let assertions = &t.vm.options.assertions;
        let (names, enabled) = arrays(t, &assertions.classes)?;
        fields::put_ref(t, directives.get(), F::DirectivesClasses, names.get());
        fields::put_ref(t, directives.get(), F::DirectivesClassEnabled, enabled);
        let (names, enabled) = arrays(t, &assertions.packages)?;
        fields::put_ref(t, directives.get(), F::DirectivesPackages, names.get());
        fields::put_ref(t, directives.get(), F::DirectivesPackageEnabled, enabled);
        fields::put(t, directives.get(), F::DirectivesDefault, assertions.default as i8);
        Ok(directives)
    })
}

/// A `String[]` of the names and a `boolean[]` of the switches.
fn arrays(
    t: &JavaThread,
    switches: &[(String, bool)],
) -> JResult<(crate::runtime::Handle, ObjectRef)> {
    let names: Vec<String> = switches.iter().map(|(name, _)| name.clone()).collect();
    let names = t.root(objects::string_array(t, &names)?);
    let array_class = t.vm.known.primitive_array(BasicType::Boolean);
    let enabled = allocate::new_array(t, array_class, switches.len() as i32)?;
    for (i, (_, on)) in switches.iter().enumerate() {
        object::put_element(enabled, i, *on as i8);
    }
    Ok((names, enabled))
}
