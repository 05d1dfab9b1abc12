//! The variadic functions of the table: assembly in front of the `V` forms.

use super::calls::{call_special_v, call_static_v, call_virtual_v, new_object_v};
use crate::ffi::types::{jboolean, jbyte, jchar, jdouble, jfloat, jint, jlong, jobject, jshort};
use crate::variadic;

macro_rules! trampolines {
    ($($name:ident, $fixed:tt, $target:path;)*) => {$(
        variadic!(
            /// # Safety
            /// Called from C, with the type that `jni.h` gives it.
            $name, $fixed, $target
        );
    )*};
}

trampolines! {
    new_object, 3, new_object_v;
    call_virtual_object, 3, call_virtual_v::<jobject>;
    call_virtual_boolean, 3, call_virtual_v::<jboolean>;
    call_virtual_byte, 3, call_virtual_v::<jbyte>;
    call_virtual_char, 3, call_virtual_v::<jchar>;
    call_virtual_short, 3, call_virtual_v::<jshort>;
    call_virtual_int, 3, call_virtual_v::<jint>;
    call_virtual_long, 3, call_virtual_v::<jlong>;
    call_virtual_float, 3, call_virtual_v::<jfloat>;
    call_virtual_double, 3, call_virtual_v::<jdouble>;
    call_virtual_void, 3, call_virtual_v::<()>;
    call_special_object, 4, call_special_v::<jobject>;
    call_special_boolean, 4, call_special_v::<jboolean>;
    call_special_byte, 4, call_special_v::<jbyte>;
    call_special_char, 4, call_special_v::<jchar>;
    call_special_short, 4, call_special_v::<jshort>;
    call_special_int, 4, call_special_v::<jint>;
    call_special_long, 4, call_special_v::<jlong>;
    call_special_float, 4, call_special_v::<jfloat>;
    call_special_double, 4, call_special_v::<jdouble>;
    call_special_void, 4, call_special_v::<()>;
    call_static_object, 3, call_static_v::<jobject>;
    call_static_boolean, 3, call_static_v::<jboolean>;
    call_static_byte, 3, call_static_v::<jbyte>;
    call_static_char, 3, call_static_v::<jchar>;
    call_static_short, 3, call_static_v::<jshort>;
    call_static_int, 3, call_static_v::<jint>;
    call_static_long, 3, call_static_v::<jlong>;
    call_static_float, 3, call_static_v::<jfloat>;
    call_static_double, 3, call_static_v::<jdouble>;
    call_static_void, 3, call_static_v::<()>;
}
