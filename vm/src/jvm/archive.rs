//! Class data sharing: the VM has none. The answers are HotSpot's with the feature off.

use crate::ffi::entry::Env;
use crate::ffi::types::{jboolean, jclass, jlong, jobject, jstring};

#[unsafe(no_mangle)]
extern "C" fn JVM_IsSharingEnabled(_env: Env) -> jboolean {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsCDSDumpingEnabled(_env: Env) -> jboolean {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_IsDumpingClassList(_env: Env) -> jboolean {
    0
}

/// 0: hash seeds are random.
#[unsafe(no_mangle)]
extern "C" fn JVM_GetRandomSeedForDumping() -> jlong {
    0
}

#[unsafe(no_mangle)]
extern "C" fn JVM_InitializeFromArchive(_env: Env, _class: jclass) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_DefineArchivedModules(_env: Env, _platform: jobject, _system: jobject) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_LogLambdaFormInvoker(_env: Env, _line: jstring) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_DumpClassListToFile(_env: Env, _file: jstring) {}

#[unsafe(no_mangle)]
extern "C" fn JVM_DumpDynamicArchive(_env: Env, _file: jstring) {}

#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
extern "C" fn JVM_RegisterLambdaProxyClassForArchiving(
    _env: Env,
    _caller: jclass,
    _interface_method: jstring,
    _factory_type: jobject,
    _interface_type: jobject,
    _implementation: jobject,
    _dynamic_type: jobject,
    _lambda: jclass,
) {
}

#[unsafe(no_mangle)]
extern "C" fn JVM_LookupLambdaProxyClassFromArchive(
    _env: Env,
    _caller: jclass,
    _interface_method: jstring,
    _factory_type: jobject,
    _interface_type: jobject,
    _implementation: jobject,
    _dynamic_type: jobject,
) -> jclass {
    std::ptr::null_mut()
}
