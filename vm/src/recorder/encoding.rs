//! Numbers and texts as flight recordings have them.
//!
//! Integers are compressed: seven bits a byte, the least significant first, where the high bit says that more follow;
//! a ninth byte has eight bits. The head of a chunk has big-endian integers of fixed width.

/// Bytes of a recording that are being written.
#[derive(Default, Clone)]
pub struct Encoder(Vec<u8>);

impl Encoder {
    pub fn new() -> Encoder {
        Encoder::default()
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    pub fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub fn flag(&mut self, is_set: bool) {
        self.byte(u8::from(is_set));
    }

    /// Bytes as they are.
    pub fn raw(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// A compressed integer.
    pub fn number(&mut self, mut number: u64) {
        for _ in 0..8 {
            if number < 0x80 {
                return self.byte(number as u8);
            }
            self.byte(number as u8 | 0x80);
            number >>= 7;
        }
        self.byte(number as u8);
    }

    /// A number of four bytes, whatever its value.
    pub fn float(&mut self, number: f32) {
        self.raw(&number.to_be_bytes());
    }

    /// A text; `None` is null.
    pub fn text(&mut self, text: Option<&str>) {
        match text {
            None => self.byte(TEXT_NULL),
            Some("") => self.byte(TEXT_EMPTY),
            Some(text) => {
                self.byte(TEXT_UTF8);
                self.number(text.len() as u64);
                self.raw(text.as_bytes());
            }
        }
    }

    /// A Java string, whose surrogates may lack partners.
    pub fn units(&mut self, units: &[u16]) {
        self.byte(TEXT_UNITS);
        self.number(units.len() as u64);
        units.iter().for_each(|unit| self.number(u64::from(*unit)));
    }

    /// What `write` writes, behind its size: that of all, the size included.
    pub fn sized(&mut self, write: impl FnOnce(&mut Encoder)) {
        let start = self.0.len();
        self.raw(&[0; SIZE_BYTES]);
        write(self);
        let bytes = self.0.len() - start;
        assert!(bytes >> (7 * SIZE_BYTES) == 0, "an event of {bytes} bytes");
        for (index, byte) in self.0[start..start + SIZE_BYTES].iter_mut().enumerate() {
            let continues = if index + 1 < SIZE_BYTES { 0x80 } else { 0 };
            *byte = (bytes >> (7 * index)) as u8 & 0x7f | continues;
        }
    }
}

/// A compressed integer of this width has any size that occurs, and is written when what it counts is known.
const SIZE_BYTES: usize = 5;

const TEXT_NULL: u8 = 0;
const TEXT_EMPTY: u8 = 1;
const TEXT_UTF8: u8 = 3;
const TEXT_UNITS: u8 = 4;

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(write: impl FnOnce(&mut Encoder)) -> Vec<u8> {
        let mut encoder = Encoder::new();
        write(&mut encoder);
        encoder.into_bytes()
    }

    #[test]
    fn integers_take_as_many_bytes_as_they_need() {
        assert_eq!(encoded(|e| e.number(0)), [0]);
        assert_eq!(encoded(|e| e.number(127)), [127]);
        assert_eq!(encoded(|e| e.number(128)), [0x80, 1]);
        assert_eq!(
            encoded(|e| e.number(1 << 56)),
            [0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 1]
        );
        assert_eq!(encoded(|e| e.number(u64::MAX)), [0xff; 9]);
    }

    #[test]
    fn texts_say_how_they_are_encoded() {
        assert_eq!(encoded(|e| e.text(None)), [0]);
        assert_eq!(encoded(|e| e.text(Some(""))), [1]);
        assert_eq!(encoded(|e| e.text(Some("\u{e9}"))), [3, 2, 0xc3, 0xa9]);
        assert_eq!(encoded(|e| e.units(&[0x41, 0xd800])), [4, 2, 0x41, 0x80, 0xb0, 3]);
    }

    #[test]
    fn sizes_count_themselves() {
        assert_eq!(encoded(|e| e.sized(|e| e.byte(7))), [0x86, 0x80, 0x80, 0x80, 0, 7]);
    }
}
