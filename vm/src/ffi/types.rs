//! The C types of JNI (Java Native Interface Specification, chapter 3), under their own names.
//!
//! `jboolean` is a byte here, not a Rust `bool`: C code passes any value, and everything but 0 is true.

#![allow(non_camel_case_types)]

use libc::c_void;

pub type jboolean = u8;
pub type jbyte = i8;
pub type jchar = u16;
pub type jshort = i16;
pub type jint = i32;
pub type jlong = i64;
pub type jfloat = f32;
pub type jdouble = f64;
pub type jsize = jint;

/// The target of a `jobject`: see `globals` for the tag bits. Never dereferenced as such.
#[repr(C)]
pub struct Opaque {
    _opaque: [u8; 0],
}

pub type jobject = *mut Opaque;
pub type jclass = jobject;
pub type jstring = jobject;
pub type jthrowable = jobject;
pub type jweak = jobject;
pub type jarray = jobject;
pub type jobjectArray = jobject;
pub type jbyteArray = jobject;
pub type jintArray = jobject;
pub type jlongArray = jobject;

/// A `Method` (see [`crate::runtime::Method`]).
pub type jmethodID = *const crate::runtime::Method;
/// A `Field` (see [`crate::runtime::Field`]).
pub type jfieldID = *const crate::runtime::Field;

/// An argument of the `...A` functions.
#[derive(Clone, Copy)]
#[repr(C)]
pub union jvalue {
    pub z: jboolean,
    pub b: jbyte,
    pub c: jchar,
    pub s: jshort,
    pub i: jint,
    pub j: jlong,
    pub f: jfloat,
    pub d: jdouble,
    pub l: jobject,
}

/// An entry of `RegisterNatives`.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct JNINativeMethod {
    pub name: *const libc::c_char,
    pub signature: *const libc::c_char,
    pub function: *mut c_void,
}

pub const JNI_OK: jint = 0;
pub const JNI_ERR: jint = -1;
pub const JNI_EDETACHED: jint = -2;
pub const JNI_EVERSION: jint = -3;

/// Modes of `Release...Elements`: copy back and keep the buffer, free it without copying back.
pub const JNI_COMMIT: jint = 1;
pub const JNI_ABORT: jint = 2;

pub const JNI_VERSION_1_1: jint = 0x0001_0001;
pub const JNI_VERSION_1_2: jint = 0x0001_0002;
pub const JNI_VERSION_1_4: jint = 0x0001_0004;
pub const JNI_VERSION_1_6: jint = 0x0001_0006;
pub const JNI_VERSION_1_8: jint = 0x0001_0008;
pub const JNI_VERSION_9: jint = 0x0009_0000;
pub const JNI_VERSION_10: jint = 0x000a_0000;

const _: () = assert!(size_of::<jvalue>() == 8);
