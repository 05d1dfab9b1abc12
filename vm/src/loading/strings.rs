//! `java.lang.String` objects and the table of interned ones.
//!
//! Strings are compact (JEP 254): a byte array of Latin-1 when every unit fits, else of UTF-16 in the
//! machine's byte order; `coder` says which.

use super::allocate;
use crate::machine::JavaThread;
use crate::runtime::headers::array_base;
use crate::runtime::weak_table::WeakTable;
use crate::runtime::{Handle, JResult, object};
use classfile::BasicType;
use gc::object::{ObjectRef, RootSlot};
use parking_lot::Mutex;

/// Interned strings (JLS 3.10.5), weakly held.
#[derive(Default)]
pub struct StringTable {
    /// By `String.hashCode`.
    interned: Mutex<WeakTable<i32>>,
}

impl StringTable {
    /// Every slot, for the collector.
    pub fn visit_weak(&self, visit: &mut dyn FnMut(&RootSlot)) {
        self.interned.lock().visit(visit);
    }

    /// Forgets slots that a collection has emptied.
    pub fn drop_emptied(&self) {
        self.interned.lock().drop_emptied();
    }

    /// The texts of all interned strings. Those that died since the last collection may be among them. No safepoint.
    pub fn texts(&self, t: &JavaThread) -> Vec<String> {
        let mut texts = Vec::new();
        self.interned.lock().visit(&mut |slot| {
            let string = t.barriers().load_weak_root(&t.mutator, slot);
            if !string.is_null() {
                texts.push(to_text(t, string));
            }
        });
        texts
    }

    /// The interned string with these units, or `candidate` from now on. No safepoint.
    fn find_or_add(&self, t: &JavaThread, units: &[u16], candidate: ObjectRef) -> ObjectRef {
        let mut interned = self.interned.lock();
        let hash = hash(units);
        for slot in interned.bucket(&hash) {
            let string = t.barriers().load_weak_root(&t.mutator, slot);
            if !string.is_null() && to_utf16(t, string) == units {
                return string;
            }
        }
        if !candidate.is_null() {
            t.store_root(interned.add(hash), candidate);
        }
        candidate
    }
}

/// A new string of modified UTF-8. A safepoint.
pub fn from_modified_utf8(t: &JavaThread, bytes: &[u8]) -> JResult<ObjectRef> {
    if bytes.is_ascii() {
        return from_latin1(t, bytes);
    }
    from_utf16(t, &decode_modified_utf8(bytes))
}

/// A new string of UTF-16 units. A safepoint.
pub fn from_utf16(t: &JavaThread, units: &[u16]) -> JResult<ObjectRef> {
    if units.iter().all(|unit| *unit < 256) {
        let bytes: Vec<u8> = units.iter().map(|unit| *unit as u8).collect();
        return from_latin1(t, &bytes);
    }
    let bytes: Vec<u8> = units.iter().flat_map(|unit| unit.to_ne_bytes()).collect();
    make(t, &bytes, UTF16)
}

/// A new string of Rust text. A safepoint.
pub fn from_str(t: &JavaThread, text: &str) -> JResult<ObjectRef> {
    if text.is_ascii() {
        return from_latin1(t, text.as_bytes());
    }
    from_utf16(t, &text.encode_utf16().collect::<Vec<u16>>())
}

fn from_latin1(t: &JavaThread, bytes: &[u8]) -> JResult<ObjectRef> {
    make(t, bytes, LATIN1)
}

fn make(t: &JavaThread, bytes: &[u8], coder: i8) -> JResult<ObjectRef> {
    let _scope = t.scope();
    let array_klass = t.vm.known.primitive_array(BasicType::Byte);
    let value = allocate::new_array(t, array_klass, bytes.len() as i32)?;
    object::copy_in(value, array_base(1), bytes);
    let value = t.root(value);
    let string = allocate::new_instance(t, t.vm.known.classes.string())?;
    object::put(string, t.vm.known.fields.string_coder(), coder);
    t.store_ref(string, t.vm.known.fields.string_value(), value.get());
    Ok(string)
}

/// The interned string equal to `string`. No safepoint.
pub fn intern(t: &JavaThread, string: Handle) -> JResult<ObjectRef> {
    let units = to_utf16(t, string.get());
    Ok(t.vm.strings.find_or_add(t, &units, string.get()))
}

/// Whether an equal string is interned. No safepoint.
pub fn is_interned(t: &JavaThread, string: ObjectRef) -> bool {
    let units = to_utf16(t, string);
    !t.vm.strings.find_or_add(t, &units, ObjectRef::NULL).is_null()
}

/// The interned string of modified UTF-8: a string constant. A safepoint.
pub fn intern_modified_utf8(t: &JavaThread, bytes: &[u8]) -> JResult<ObjectRef> {
    let units = decode_modified_utf8(bytes);
    let known = t.vm.strings.find_or_add(t, &units, ObjectRef::NULL);
    if !known.is_null() {
        return Ok(known);
    }
    let string = from_utf16(t, &units)?;
    Ok(t.vm.strings.find_or_add(t, &units, string))
}

/// The UTF-16 units of a string. No safepoint.
pub fn to_utf16(t: &JavaThread, string: ObjectRef) -> Vec<u16> {
    let fields = &t.vm.known.fields;
    let value = t.load_ref(string, fields.string_value());
    if value.is_null() {
        return Vec::new();
    }
    let length = value.array_length();
    match object::get::<i8>(string, fields.string_coder()) {
        LATIN1 => (0..length).map(|i| object::element::<i8>(value, i) as u8 as u16).collect(),
        _ => (0..length / 2).map(|i| object::element::<u16>(value, i)).collect(),
    }
}

/// Rust text; unpaired surrogates are replaced. No safepoint.
pub fn to_text(t: &JavaThread, string: ObjectRef) -> String {
    String::from_utf16_lossy(&to_utf16(t, string))
}

/// Modified UTF-8 (JNI). No safepoint.
pub fn to_modified_utf8(t: &JavaThread, string: ObjectRef) -> Vec<u8> {
    encode_modified_utf8(&to_utf16(t, string))
}

/// UTF-16 units of modified UTF-8 (JVMS 4.4.7). Never panics: as in HotSpot, a byte that begins no character is a
/// unit of its own, and the number of units is the number of bytes that continue no character.
pub fn decode_modified_utf8(bytes: &[u8]) -> Vec<u16> {
    let mut units = Vec::with_capacity(bytes.len());
    let is_tail = |byte: &u8| byte & 0xc0 == 0x80;
    let tail =
        |at: usize| bytes.get(at).copied().filter(is_tail).map(|byte| u16::from(byte & 0x3f));
    let mut at = 0;
    while let Some(byte) = bytes.get(at).map(|byte| u16::from(*byte)) {
        let (unit, length) = match (byte, tail(at + 1), tail(at + 2)) {
            (0xc0..=0xdf, Some(low), _) => ((byte & 0x1f) << 6 | low, 2),
            (0xe0..=0xef, Some(middle), Some(low)) => ((byte & 0x0f) << 12 | middle << 6 | low, 3),
            _ => (byte, 1),
        };
        units.push(unit);
        at += length;
    }
    units.truncate(bytes.iter().filter(|byte| !is_tail(byte)).count());
    units
}

/// Modified UTF-8 of UTF-16 units: NUL takes two bytes, surrogates three each.
pub fn encode_modified_utf8(units: &[u16]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(units.len());
    for &unit in units {
        match unit {
            0x01..=0x7f => bytes.push(unit as u8),
            0x00 | 0x80..=0x7ff => {
                bytes.extend([0xc0 | (unit >> 6) as u8, 0x80 | (unit & 0x3f) as u8]);
            }
            _ => bytes.extend([
                0xe0 | (unit >> 12) as u8,
                0x80 | (unit >> 6 & 0x3f) as u8,
                0x80 | (unit & 0x3f) as u8,
            ]),
        }
    }
    bytes
}

/// `String.hashCode`.
fn hash(units: &[u16]) -> i32 {
    units.iter().fold(0i32, |hash, unit| hash.wrapping_mul(31).wrapping_add(*unit as i32))
}

pub const LATIN1: i8 = 0;
pub const UTF16: i8 = 1;

/// The name of a `Thread` object, for messages. No safepoint.
pub fn name_of_thread(t: &JavaThread, thread: ObjectRef) -> String {
    if thread.is_null() {
        return String::new();
    }
    let name = t.load_ref(thread, t.vm.known.fields.thread_name());
    if name.is_null() { String::new() } else { to_text(t, name) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modified_utf8_round_trips_every_unit() {
        let all: Vec<u16> = (0..=u16::MAX).collect();
        assert_eq!(decode_modified_utf8(&encode_modified_utf8(&all)), all);
    }

    #[test]
    fn malformed_bytes_are_units_of_their_own() {
        for first in 0..=255u8 {
            let is_tail = first & 0xc0 == 0x80;
            assert_eq!(decode_modified_utf8(&[first]).len(), usize::from(!is_tail));
            assert_eq!(decode_modified_utf8(&[first, 0x80]).len(), usize::from(!is_tail));
        }
        assert_eq!(decode_modified_utf8(b"\xc3("), [0xc3, 0x28]);
        assert_eq!(decode_modified_utf8(b"\xe2\x82x"), [0xe2, 0x82]);
        assert_eq!(decode_modified_utf8(b"\xf0\x9f\x98\x80"), [0xf0]);
        assert_eq!(decode_modified_utf8(b"a\xe9"), [0x61, 0xe9]);
    }

    #[test]
    fn hashes_as_java_does() {
        let units: Vec<u16> = "hello".encode_utf16().collect();
        assert_eq!(hash(&units), 99162322);
    }
}
