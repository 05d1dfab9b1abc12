//! Strings: native code always gets copies.

use super::memory;
use crate::ffi::entry::{self, Env};
use crate::ffi::types::{jboolean, jchar, jsize, jstring};
use crate::loading::{errors, strings};
use crate::machine::JavaThread;
use crate::runtime::JResult;
use gc::object::ObjectRef;
use libc::c_char;

pub extern "C" fn new(env: Env, units: *const jchar, length: jsize) -> jstring {
    env.enter(|t| {
        if units.is_null() {
            return Ok(ObjectRef::NULL);
        }
        // SAFETY: JNI callers pass `length` units.
        strings::from_utf16(t, unsafe { std::slice::from_raw_parts(units, length as usize) })
    })
}

pub extern "C" fn new_utf(env: Env, text: *const c_char) -> jstring {
    env.enter(|t| {
        if text.is_null() {
            return Ok(ObjectRef::NULL);
        }
        // SAFETY: JNI callers pass a C string.
        strings::from_modified_utf8(t, unsafe { entry::c_bytes(text) })
    })
}

pub extern "C" fn length(env: Env, string: jstring) -> jsize {
    env.enter(|t| Ok(units(t, string)?.len() as jsize))
}

pub extern "C" fn utf_length(env: Env, string: jstring) -> jsize {
    env.enter(|t| Ok(modified_utf8(&units(t, string)?).len() as jsize))
}

pub extern "C" fn chars(env: Env, string: jstring, is_copy: *mut jboolean) -> *const jchar {
    env.enter(|t| {
        let units = units(t, string)?;
        // SAFETY: the bytes of the vector, whose every bit is initialized.
        let bytes = unsafe { std::slice::from_raw_parts(units.as_ptr().cast(), units.len() * 2) };
        set(is_copy);
        Ok(memory::copy(bytes, 2) as *const jchar)
    })
}

pub extern "C" fn release_chars(_env: Env, _string: jstring, chars: *const jchar) {
    // SAFETY: JNI callers release the memory that `chars` gave them.
    unsafe { memory::free(chars.cast()) }
}

pub extern "C" fn utf_chars(env: Env, string: jstring, is_copy: *mut jboolean) -> *const c_char {
    env.enter(|t| {
        let text = modified_utf8(&units(t, string)?);
        set(is_copy);
        Ok(memory::copy(&text, 1) as *const c_char)
    })
}

pub extern "C" fn release_utf_chars(_env: Env, _string: jstring, chars: *const c_char) {
    // SAFETY: JNI callers release the memory that `utf_chars` gave them.
    unsafe { memory::free(chars.cast()) }
}

pub extern "C" fn region(env: Env, string: jstring, start: jsize, length: jsize, out: *mut jchar) {
    env.enter(|t| {
        let units = units(t, string)?;
        let part = checked(t, &units, start, length)?;
        // SAFETY: JNI callers pass room for `length` units.
        unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), out, part.len()) };
        Ok(())
    })
}

pub extern "C" fn utf_region(
    env: Env,
    string: jstring,
    start: jsize,
    length: jsize,
    out: *mut c_char,
) {
    env.enter(|t| {
        let units = units(t, string)?;
        let text = modified_utf8(checked(t, &units, start, length)?);
        if !out.is_null() {
            // SAFETY: JNI callers pass room for the encoded region and a NUL.
            unsafe {
                std::ptr::copy_nonoverlapping(text.as_ptr(), out.cast(), text.len());
                out.add(text.len()).write(0);
            }
        }
        Ok(())
    })
}

fn units(t: &JavaThread, string: jstring) -> JResult<Vec<u16>> {
    let string = entry::non_null(t, string)?;
    Ok(strings::to_utf16(t, string.get()))
}

fn checked<'u>(
    t: &JavaThread,
    units: &'u [u16],
    start: jsize,
    length: jsize,
) -> JResult<&'u [u16]> {
    let part = usize::try_from(start).ok().zip(usize::try_from(length).ok());
    let part = part.and_then(|(start, length)| units.get(start..start.checked_add(length)?));
    part.ok_or_else(|| errors::throw_new(t, "java/lang/StringIndexOutOfBoundsException", None))
}

/// Every unit on its own, NUL in two bytes (JVMS 4.4.7).
fn modified_utf8(units: &[u16]) -> Vec<u8> {
    let mut out = Vec::with_capacity(units.len());
    for &unit in units {
        match unit {
            1..=0x7f => out.push(unit as u8),
            0 | 0x80..=0x7ff => out.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]),
            _ => out.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
    out
}

fn set(is_copy: *mut jboolean) {
    if !is_copy.is_null() {
        // SAFETY: JNI callers pass null or the address of a jboolean.
        unsafe { is_copy.write(1) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_each_unit_by_itself() {
        let units: Vec<u16> = "a\0é€😀".encode_utf16().collect();
        let expected = b"a\xc0\x80\xc3\xa9\xe2\x82\xac\xed\xa0\xbd\xed\xb8\x80";
        assert_eq!(modified_utf8(&units), expected);
    }
}
