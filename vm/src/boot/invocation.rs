//! Reflective calls: `Method.invoke`, `Constructor.newInstance`.

use crate::boot;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jobject, jobjectArray};
use crate::java::{objects, reflect};
use crate::loading::{allocate, boxes, errors, initialize, resolve};
use crate::machine::JavaThread;
use crate::runtime::{Handle, JResult, MethodRef, Throw};
use classfile::BasicType;

#[unsafe(no_mangle)]
extern "C" fn JVM_InvokeMethod(
    env: Env,
    method: jobject,
    receiver: jobject,
    arguments: jobjectArray,
) -> jobject {
    env.enter(|t| {
        let declared = reflect::executable_of(t, entry::resolve(t, method));
        let types = t.root(reflect::parameter_classes(t, entry::resolve(t, method)));
        let receiver = entry::handle(t, receiver);
        let arguments = entry::handle(t, arguments);
        initialize::initialize(t, declared.holder)?;
        let (selected, receiver) = match declared.is_static() {
            true => (declared, None),
            false => (select(t, declared, receiver)?, Some(receiver)),
        };
        let result = invoke(t, selected, receiver, types, arguments)?;
        boxes::wrap(t, selected.return_type, result)
    })
}

#[unsafe(no_mangle)]
extern "C" fn JVM_NewInstanceFromConstructor(
    env: Env,
    constructor: jobject,
    arguments: jobjectArray,
) -> jobject {
    env.enter(|t| {
        let method = reflect::executable_of(t, entry::resolve(t, constructor));
        let types = t.root(reflect::parameter_classes(t, entry::resolve(t, constructor)));
        let arguments = entry::handle(t, arguments);
        let klass = method.holder;
        if klass.is_interface() || klass.flags.is_abstract() {
            return errors::fail(t, "java/lang/InstantiationException", &klass.java_name());
        }
        initialize::initialize(t, klass)?;
        let made = allocate::new_instance(t, klass)?;
        let made = t.root(made);
        invoke(t, method, Some(made), types, arguments)?;
        Ok(made.get())
    })
}

/// The method to call on a receiver.
fn select(t: &JavaThread, declared: MethodRef, receiver: Handle) -> JResult<MethodRef> {
    if receiver.is_null() {
        return Err(errors::null_pointer(t));
    }
    let klass = t.klass_of(receiver.get());
    if !klass.is_subtype_of(declared.holder) {
        let message = "object is not an instance of declaring class";
        return errors::fail(t, ILLEGAL_ARGUMENT, message);
    }
    if declared.flags().is_private() || declared.is_initializer() {
        return Ok(declared);
    }
    let selected = match declared.holder.is_interface() {
        true => resolve::select_interface(t, declared, klass),
        false => Ok(resolve::select_virtual(declared, klass)),
    };
    match selected {
        Ok(method) if method.is_abstract() => {
            let thrown = resolve::abstract_method(t, declared, Some(method), klass);
            Err(wrap_target(t, thrown))
        }
        Ok(method) => Ok(method),
        Err(thrown) => Err(wrap_target(t, thrown)),
    }
}

/// Checks and unboxes the arguments and calls. Exceptions that the method throws are wrapped.
fn invoke(
    t: &JavaThread,
    method: MethodRef,
    receiver: Option<Handle>,
    types: Handle,
    arguments: Handle,
) -> JResult<u64> {
    let given = if arguments.is_null() { 0 } else { arguments.get().array_length() };
    if given != types.get().array_length() {
        return errors::fail(t, ILLEGAL_ARGUMENT, "wrong number of arguments");
    }
    let mut slots = Vec::with_capacity(method.argument_slots as usize);
    // No safepoint from here to the call: the slots hold plain addresses.
    slots.extend(receiver.map(|receiver| receiver.get().address() as u64));
    for (index, ty) in method.parameters.iter().enumerate() {
        let argument = t.load_element(arguments.get(), index);
        if ty.is_reference() {
            let wanted = t.klass_of_mirror(t.load_element(types.get(), index));
            if !argument.is_null() && !t.klass_of(argument).is_subtype_of(wanted) {
                return errors::fail(t, ILLEGAL_ARGUMENT, MISMATCH);
            }
            slots.push(argument.address() as u64);
        } else {
            slots.push(boxes::unwrap_for(t, argument, *ty, MISMATCH)?);
            if matches!(ty, BasicType::Long | BasicType::Double) {
                slots.push(0);
            }
        }
    }
    t.call(method, &slots).map_err(|thrown| wrap_target(t, thrown))
}

/// `new InvocationTargetException(thrown)`.
fn wrap_target(t: &JavaThread, thrown: Throw) -> Throw {
    let cause = t.root(t.take_pending(thrown));
    let made = objects::boot_class(t, "java/lang/reflect/InvocationTargetException")
        .and_then(|klass| boot::construct(t, klass, "(Ljava/lang/Throwable;)V", &[cause]));
    match made {
        Ok(exception) => t.throw_object(exception.get()),
        Err(thrown) => thrown,
    }
}

const ILLEGAL_ARGUMENT: &str = "java/lang/IllegalArgumentException";
const MISMATCH: &str = "argument type mismatch";
