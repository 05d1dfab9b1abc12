//! The JNI function table: the functions in the order of `jni.h`, behind four reserved words.

use super::{
    arrays, calls, classes, exceptions, fields, invoke, misc, references, strings, trampolines,
};
use crate::ffi::types::{jboolean, jbyte, jchar, jdouble, jfloat, jint, jlong, jobject, jshort};
use libc::c_void;

/// `const struct JNINativeInterface_ *`
pub fn functions() -> *const c_void {
    (&raw const TABLE).cast()
}

#[repr(transparent)]
struct Table([*const c_void; COUNT]);

// SAFETY: addresses of functions that any attached thread may call.
unsafe impl Sync for Table {}

/// Functions of JNI 10 and reserved words.
const COUNT: usize = 234;

const NONE: *const c_void = std::ptr::null();

/// One function per line, named as in C.
macro_rules! table {
    ($($name:ident: $function:expr,)*) => {
        static TABLE: Table = Table([$($function as *const c_void),*]);

        #[cfg(test)]
        const NAMES: [&str; COUNT] = [$(stringify!($name)),*];
    };
}

table! {
    reserved0: NONE,
    reserved1: NONE,
    reserved2: NONE,
    reserved3: NONE,
    GetVersion: misc::version,
    DefineClass: classes::define,
    FindClass: classes::find,
    FromReflectedMethod: classes::from_reflected_method,
    FromReflectedField: classes::from_reflected_field,
    ToReflectedMethod: classes::to_reflected_method,
    GetSuperclass: classes::superclass,
    IsAssignableFrom: classes::is_assignable,
    ToReflectedField: classes::to_reflected_field,
    Throw: exceptions::throw,
    ThrowNew: exceptions::throw_new,
    ExceptionOccurred: exceptions::exception_occurred,
    ExceptionDescribe: exceptions::exception_describe,
    ExceptionClear: exceptions::exception_clear,
    FatalError: exceptions::fatal_error,
    PushLocalFrame: references::push_local_frame,
    PopLocalFrame: references::pop_local_frame,
    NewGlobalRef: references::new_global_ref,
    DeleteGlobalRef: references::delete_global_ref,
    DeleteLocalRef: references::delete_local_ref,
    IsSameObject: references::is_same_object,
    NewLocalRef: references::new_local_ref,
    EnsureLocalCapacity: references::ensure_local_capacity,
    AllocObject: classes::alloc_object,
    NewObject: trampolines::new_object,
    NewObjectV: calls::new_object_v,
    NewObjectA: calls::new_object_a,
    GetObjectClass: classes::object_class,
    IsInstanceOf: classes::is_instance,
    GetMethodID: classes::method_id,
    CallObjectMethod: trampolines::call_virtual_object,
    CallObjectMethodV: calls::call_virtual_v::<jobject>,
    CallObjectMethodA: calls::call_virtual_a::<jobject>,
    CallBooleanMethod: trampolines::call_virtual_boolean,
    CallBooleanMethodV: calls::call_virtual_v::<jboolean>,
    CallBooleanMethodA: calls::call_virtual_a::<jboolean>,
    CallByteMethod: trampolines::call_virtual_byte,
    CallByteMethodV: calls::call_virtual_v::<jbyte>,
    CallByteMethodA: calls::call_virtual_a::<jbyte>,
    CallCharMethod: trampolines::call_virtual_char,
    CallCharMethodV: calls::call_virtual_v::<jchar>,
    CallCharMethodA: calls::call_virtual_a::<jchar>,
    CallShortMethod: trampolines::call_virtual_short,
    CallShortMethodV: calls::call_virtual_v::<jshort>,
    CallShortMethodA: calls::call_virtual_a::<jshort>,
    CallIntMethod: trampolines::call_virtual_int,
    CallIntMethodV: calls::call_virtual_v::<jint>,
    CallIntMethodA: calls::call_virtual_a::<jint>,
    CallLongMethod: trampolines::call_virtual_long,
    CallLongMethodV: calls::call_virtual_v::<jlong>,
    CallLongMethodA: calls::call_virtual_a::<jlong>,
    CallFloatMethod: trampolines::call_virtual_float,
    CallFloatMethodV: calls::call_virtual_v::<jfloat>,
    CallFloatMethodA: calls::call_virtual_a::<jfloat>,
    CallDoubleMethod: trampolines::call_virtual_double,
    CallDoubleMethodV: calls::call_virtual_v::<jdouble>,
    CallDoubleMethodA: calls::call_virtual_a::<jdouble>,
    CallVoidMethod: trampolines::call_virtual_void,
    CallVoidMethodV: calls::call_virtual_v::<()>,
    CallVoidMethodA: calls::call_virtual_a::<()>,
    CallNonvirtualObjectMethod: trampolines::call_special_object,
    CallNonvirtualObjectMethodV: calls::call_special_v::<jobject>,
    CallNonvirtualObjectMethodA: calls::call_special_a::<jobject>,
    CallNonvirtualBooleanMethod: trampolines::call_special_boolean,
    CallNonvirtualBooleanMethodV: calls::call_special_v::<jboolean>,
    CallNonvirtualBooleanMethodA: calls::call_special_a::<jboolean>,
    CallNonvirtualByteMethod: trampolines::call_special_byte,
    CallNonvirtualByteMethodV: calls::call_special_v::<jbyte>,
    CallNonvirtualByteMethodA: calls::call_special_a::<jbyte>,
    CallNonvirtualCharMethod: trampolines::call_special_char,
    CallNonvirtualCharMethodV: calls::call_special_v::<jchar>,
    CallNonvirtualCharMethodA: calls::call_special_a::<jchar>,
    CallNonvirtualShortMethod: trampolines::call_special_short,
    CallNonvirtualShortMethodV: calls::call_special_v::<jshort>,
    CallNonvirtualShortMethodA: calls::call_special_a::<jshort>,
    CallNonvirtualIntMethod: trampolines::call_special_int,
    CallNonvirtualIntMethodV: calls::call_special_v::<jint>,
    CallNonvirtualIntMethodA: calls::call_special_a::<jint>,
    CallNonvirtualLongMethod: trampolines::call_special_long,
    CallNonvirtualLongMethodV: calls::call_special_v::<jlong>,
    CallNonvirtualLongMethodA: calls::call_special_a::<jlong>,
    CallNonvirtualFloatMethod: trampolines::call_special_float,
    CallNonvirtualFloatMethodV: calls::call_special_v::<jfloat>,
    CallNonvirtualFloatMethodA: calls::call_special_a::<jfloat>,
    CallNonvirtualDoubleMethod: trampolines::call_special_double,
    CallNonvirtualDoubleMethodV: calls::call_special_v::<jdouble>,
    CallNonvirtualDoubleMethodA: calls::call_special_a::<jdouble>,
    CallNonvirtualVoidMethod: trampolines::call_special_void,
    CallNonvirtualVoidMethodV: calls::call_special_v::<()>,
    CallNonvirtualVoidMethodA: calls::call_special_a::<()>,
    GetFieldID: fields::get_field_id,
    GetObjectField: fields::get_field::<jobject>,
    GetBooleanField: fields::get_field::<jboolean>,
    GetByteField: fields::get_field::<jbyte>,
    GetCharField: fields::get_field::<jchar>,
    GetShortField: fields::get_field::<jshort>,
    GetIntField: fields::get_field::<jint>,
    GetLongField: fields::get_field::<jlong>,
    GetFloatField: fields::get_field::<jfloat>,
    GetDoubleField: fields::get_field::<jdouble>,
    SetObjectField: fields::set_field::<jobject>,
    SetBooleanField: fields::set_field::<jboolean>,
    SetByteField: fields::set_field::<jbyte>,
    SetCharField: fields::set_field::<jchar>,
    SetShortField: fields::set_field::<jshort>,
    SetIntField: fields::set_field::<jint>,
    SetLongField: fields::set_field::<jlong>,
    SetFloatField: fields::set_field::<jfloat>,
    SetDoubleField: fields::set_field::<jdouble>,
    GetStaticMethodID: classes::static_method_id,
    CallStaticObjectMethod: trampolines::call_static_object,
    CallStaticObjectMethodV: calls::call_static_v::<jobject>,
    CallStaticObjectMethodA: calls::call_static_a::<jobject>,
    CallStaticBooleanMethod: trampolines::call_static_boolean,
    CallStaticBooleanMethodV: calls::call_static_v::<jboolean>,
    CallStaticBooleanMethodA: calls::call_static_a::<jboolean>,
    CallStaticByteMethod: trampolines::call_static_byte,
    CallStaticByteMethodV: calls::call_static_v::<jbyte>,
    CallStaticByteMethodA: calls::call_static_a::<jbyte>,
    CallStaticCharMethod: trampolines::call_static_char,
    CallStaticCharMethodV: calls::call_static_v::<jchar>,
    CallStaticCharMethodA: calls::call_static_a::<jchar>,
    CallStaticShortMethod: trampolines::call_static_short,
    CallStaticShortMethodV: calls::call_static_v::<jshort>,
    CallStaticShortMethodA: calls::call_static_a::<jshort>,
    CallStaticIntMethod: trampolines::call_static_int,
    CallStaticIntMethodV: calls::call_static_v::<jint>,
    CallStaticIntMethodA: calls::call_static_a::<jint>,
    CallStaticLongMethod: trampolines::call_static_long,
    CallStaticLongMethodV: calls::call_static_v::<jlong>,
    CallStaticLongMethodA: calls::call_static_a::<jlong>,
    CallStaticFloatMethod: trampolines::call_static_float,
    CallStaticFloatMethodV: calls::call_static_v::<jfloat>,
    CallStaticFloatMethodA: calls::call_static_a::<jfloat>,
    CallStaticDoubleMethod: trampolines::call_static_double,
    CallStaticDoubleMethodV: calls::call_static_v::<jdouble>,
    CallStaticDoubleMethodA: calls::call_static_a::<jdouble>,
    CallStaticVoidMethod: trampolines::call_static_void,
    CallStaticVoidMethodV: calls::call_static_v::<()>,
    CallStaticVoidMethodA: calls::call_static_a::<()>,
    GetStaticFieldID: fields::get_static_field_id,
    GetStaticObjectField: fields::get_static_field::<jobject>,
    GetStaticBooleanField: fields::get_static_field::<jboolean>,
    GetStaticByteField: fields::get_static_field::<jbyte>,
    GetStaticCharField: fields::get_static_field::<jchar>,
    GetStaticShortField: fields::get_static_field::<jshort>,
    GetStaticIntField: fields::get_static_field::<jint>,
    GetStaticLongField: fields::get_static_field::<jlong>,
    GetStaticFloatField: fields::get_static_field::<jfloat>,
    GetStaticDoubleField: fields::get_static_field::<jdouble>,
    SetStaticObjectField: fields::set_static_field::<jobject>,
    SetStaticBooleanField: fields::set_static_field::<jboolean>,
    SetStaticByteField: fields::set_static_field::<jbyte>,
    SetStaticCharField: fields::set_static_field::<jchar>,
    SetStaticShortField: fields::set_static_field::<jshort>,
    SetStaticIntField: fields::set_static_field::<jint>,
    SetStaticLongField: fields::set_static_field::<jlong>,
    SetStaticFloatField: fields::set_static_field::<jfloat>,
    SetStaticDoubleField: fields::set_static_field::<jdouble>,
    NewString: strings::new,
    GetStringLength: strings::length,
    GetStringChars: strings::chars,
    ReleaseStringChars: strings::release_chars,
    NewStringUTF: strings::new_utf,
    GetStringUTFLength: strings::utf_length,
    GetStringUTFChars: strings::utf_chars,
    ReleaseStringUTFChars: strings::release_utf_chars,
    GetArrayLength: arrays::length,
    NewObjectArray: arrays::new_objects,
    GetObjectArrayElement: arrays::object_element,
    SetObjectArrayElement: arrays::set_object_element,
    NewBooleanArray: arrays::new_primitives::<jboolean>,
    NewByteArray: arrays::new_primitives::<jbyte>,
    NewCharArray: arrays::new_primitives::<jchar>,
    NewShortArray: arrays::new_primitives::<jshort>,
    NewIntArray: arrays::new_primitives::<jint>,
    NewLongArray: arrays::new_primitives::<jlong>,
    NewFloatArray: arrays::new_primitives::<jfloat>,
    NewDoubleArray: arrays::new_primitives::<jdouble>,
    GetBooleanArrayElements: arrays::elements::<jboolean>,
    GetByteArrayElements: arrays::elements::<jbyte>,
    GetCharArrayElements: arrays::elements::<jchar>,
    GetShortArrayElements: arrays::elements::<jshort>,
    GetIntArrayElements: arrays::elements::<jint>,
    GetLongArrayElements: arrays::elements::<jlong>,
    GetFloatArrayElements: arrays::elements::<jfloat>,
    GetDoubleArrayElements: arrays::elements::<jdouble>,
    ReleaseBooleanArrayElements: arrays::release_elements::<jboolean>,
    ReleaseByteArrayElements: arrays::release_elements::<jbyte>,
    ReleaseCharArrayElements: arrays::release_elements::<jchar>,
    ReleaseShortArrayElements: arrays::release_elements::<jshort>,
    ReleaseIntArrayElements: arrays::release_elements::<jint>,
    ReleaseLongArrayElements: arrays::release_elements::<jlong>,
    ReleaseFloatArrayElements: arrays::release_elements::<jfloat>,
    ReleaseDoubleArrayElements: arrays::release_elements::<jdouble>,
    GetBooleanArrayRegion: arrays::region::<jboolean>,
    GetByteArrayRegion: arrays::region::<jbyte>,
    GetCharArrayRegion: arrays::region::<jchar>,
    GetShortArrayRegion: arrays::region::<jshort>,
    GetIntArrayRegion: arrays::region::<jint>,
    GetLongArrayRegion: arrays::region::<jlong>,
    GetFloatArrayRegion: arrays::region::<jfloat>,
    GetDoubleArrayRegion: arrays::region::<jdouble>,
    SetBooleanArrayRegion: arrays::set_region::<jboolean>,
    SetByteArrayRegion: arrays::set_region::<jbyte>,
    SetCharArrayRegion: arrays::set_region::<jchar>,
    SetShortArrayRegion: arrays::set_region::<jshort>,
    SetIntArrayRegion: arrays::set_region::<jint>,
    SetLongArrayRegion: arrays::set_region::<jlong>,
    SetFloatArrayRegion: arrays::set_region::<jfloat>,
    SetDoubleArrayRegion: arrays::set_region::<jdouble>,
    RegisterNatives: misc::register_natives,
    UnregisterNatives: misc::unregister_natives,
    MonitorEnter: misc::monitor_enter,
    MonitorExit: misc::monitor_exit,
    GetJavaVM: invoke::get_java_vm,
    GetStringRegion: strings::region,
    GetStringUTFRegion: strings::utf_region,
    GetPrimitiveArrayCritical: arrays::critical,
    ReleasePrimitiveArrayCritical: arrays::release_critical,
    GetStringCritical: strings::chars,
    ReleaseStringCritical: strings::release_chars,
    NewWeakGlobalRef: references::new_weak_global_ref,
    DeleteWeakGlobalRef: references::delete_weak_global_ref,
    ExceptionCheck: exceptions::exception_check,
    NewDirectByteBuffer: misc::new_direct_buffer,
    GetDirectBufferAddress: misc::direct_buffer_address,
    GetDirectBufferCapacity: misc::direct_buffer_capacity,
    GetObjectRefType: references::get_object_ref_type,
    GetModule: classes::module,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against the layout of another author.
    macro_rules! same_place {
        ($($name:ident)*) => {$(
            let offset = std::mem::offset_of!(jni_sys::JNINativeInterface__1_6, $name);
            assert_eq!(NAMES[offset / 8], stringify!($name));
        )*};
    }

    #[test]
    fn functions_are_where_c_looks_for_them() {
        same_place! {
            GetVersion FindClass GetSuperclass Throw FatalError NewObject NewObjectA GetMethodID
            CallObjectMethod CallVoidMethodA CallNonvirtualLongMethodV GetFieldID SetDoubleField
            CallStaticIntMethod GetStaticFieldID SetStaticDoubleField NewString NewStringUTF
            GetArrayLength NewDoubleArray GetBooleanArrayElements ReleaseDoubleArrayElements
            SetDoubleArrayRegion RegisterNatives GetJavaVM GetStringCritical NewWeakGlobalRef
            ExceptionCheck GetDirectBufferCapacity GetObjectRefType
        }
        assert_eq!(NAMES[COUNT - 1], "GetModule");
        let missing = TABLE.0.iter().filter(|function| function.is_null()).count();
        assert_eq!(missing, 4);
    }
}
