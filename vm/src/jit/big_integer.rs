//! The inner loops of `java.math.BigInteger`, in limbs of 64 bits: the bodies of its methods marked
//! `@IntrinsicCandidate`.
//!
//! Numbers lie in `int[]`, most significant word first. Two words that follow each other, read as one little-endian
//! word and with their halves exchanged, are a limb, so nothing is copied; an odd word is left at the top.
//!
//! The methods' callers in the library have checked lengths. Arguments that they would have refused give `false`.

use crate::runtime::headers::array_base;
use gc::object::ObjectRef;

/// Words of a number in an array, most significant first. Raw, for the arrays of one operation may be the same.
#[derive(Clone, Copy)]
struct Words {
    start: *mut u32,
    count: usize,
}

impl Words {
    /// The first `count` words of an array that is not null; `None` where it is shorter, or there are none.
    fn of(array: ObjectRef, count: i32) -> Option<Words> {
        let count = usize::try_from(count).ok().filter(|count| *count > 0)?;
        let start = (array.address() + array_base(size_of::<u32>())) as *mut u32;
        (count <= array.array_length()).then_some(Words { start, count })
    }

    /// `count` words, `from` the first on.
    fn part(self, from: usize, count: usize) -> Words {
        debug_assert!(from + count <= self.count);
        // SAFETY: inside of these words.
        Words { start: unsafe { self.start.add(from) }, count }
    }

    /// The limb with `index` limbs below it; both its words exist.
    fn limb(self, index: usize) -> u64 {
        debug_assert!(2 * index + 1 < self.count);
        // SAFETY: words of a live array, by the type's meaning; no safepoint lies between.
        let at = unsafe { self.start.add(self.count - 2 * index - 2) };
        // SAFETY: as above.
        unsafe { at.cast::<u64>().read_unaligned() }.rotate_left(32)
    }

    fn set_limb(self, index: usize, limb: u64) {
        debug_assert!(2 * index + 1 < self.count);
        // SAFETY: as in `limb`.
        let at = unsafe { self.start.add(self.count - 2 * index - 2) };
        // SAFETY: as above.
        unsafe { at.cast::<u64>().write_unaligned(limb.rotate_left(32)) }
    }

    /// The most significant word.
    fn top(self) -> u32 {
        // SAFETY: as in `limb`; there is at least one.
        unsafe { *self.start }
    }

    fn set_top(self, word: u32) {
        // SAFETY: as in `top`.
        unsafe { *self.start = word }
    }

    fn fill_zero(self) {
        // SAFETY: as in `limb`.
        unsafe { self.start.write_bytes(0, self.count) }
    }
}

/// `out += number * factor`, as many words as the number has; returns the carry.
fn add_product(out: Words, number: Words, factor: u64) -> u64 {
    debug_assert_eq!(out.count, number.count);
    let mut carry = 0;
    for index in 0..number.count / 2 {
        let product = wide(number.limb(index), factor) + wide(out.limb(index), 1) + wide(carry, 1);
        out.set_limb(index, product as u64);
        carry = (product >> 64) as u64;
    }
    if number.count % 2 == 1 {
        let product =
            wide(number.top().into(), factor) + wide(out.top().into(), 1) + wide(carry, 1);
        out.set_top(product as u32);
        carry = (product >> 32) as u64;
    }
    carry
}

fn wide(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// `implMultiplyToLen` and `implSquareToLen`: the product of the first words of two arrays, in the first words of a
/// third one, which is another array.
pub fn multiply(
    (x, x_count): (ObjectRef, i32),
    (y, y_count): (ObjectRef, i32),
    product: ObjectRef,
) -> bool {
    let (Some(x), Some(y)) = (Words::of(x, x_count), Words::of(y, y_count)) else { return false };
    let Some(product) = Words::of(product, x_count.saturating_add(y_count)) else { return false };
    product.fill_zero();
    let rows = x.count / 2;
    for row in 0..rows {
        let at = product.count - 2 * row - y.count;
        let carry = add_product(product.part(at, y.count), y, x.limb(row));
        product.part(at - 2, 2).set_limb(0, carry);
    }
    if x.count % 2 == 1 {
        let carry = add_product(product.part(1, y.count), y, x.top().into());
        product.set_top(carry as u32);
    }
    true
}

/// `implMulAdd`: adds `number * factor` to the words of `out` that have `offset` words below them.
pub fn multiply_add(
    out: ObjectRef,
    offset: i32,
    (number, count): (ObjectRef, i32),
    factor: u32,
) -> Option<u32> {
    if count == 0 {
        return Some(0);
    }
    let number = Words::of(number, count)?;
    let all = Words::of(out, i32::try_from(out.array_length()).ok()?)?;
    let from = all.count.checked_sub(usize::try_from(offset).ok()?)?.checked_sub(number.count)?;
    Some(add_product(all.part(from, number.count), number, factor.into()) as u32)
}

/// The library has longer numbers done by its own code.
const MONTGOMERY_LIMBS_MAX: usize = 256;

/// `implMontgomeryMultiply` and `implMontgomerySquare`: `a * b / 2^(32 * count)` modulo `n`, all of `count` words, an
/// even number. `inverse` times the lowest limb of `n` is -1. Multiplies and reduces limb by limb (the method known as
/// coarsely integrated operand scanning).
pub fn montgomery(
    a: ObjectRef,
    b: ObjectRef,
    n: ObjectRef,
    count: i32,
    inverse: u64,
    product: ObjectRef,
) -> bool {
    let of = |array| Words::of(array, count);
    let (Some(a), Some(b), Some(n), Some(product)) = (of(a), of(b), of(n), of(product)) else {
        return false;
    };
    let limbs = a.count / 2;
    let is_zero = |limb: usize| n.limb(limb) == 0;
    if a.count % 2 == 1 || limbs > MONTGOMERY_LIMBS_MAX || (0..limbs).all(is_zero) {
        return false;
    }
    let mut sum = [0u64; MONTGOMERY_LIMBS_MAX + 1];
    let sum = &mut sum[..=limbs];
    for row in 0..limbs {
        let factor = b.limb(row);
        let mut carry = 0;
        for (index, limb) in sum[..limbs].iter_mut().enumerate() {
            let product = wide(a.limb(index), factor) + wide(*limb, 1) + wide(carry, 1);
            *limb = product as u64;
            carry = (product >> 64) as u64;
        }
        let (top, beyond) = sum[limbs].overflowing_add(carry);
        let factor = sum[0].wrapping_mul(inverse);
        carry = ((wide(n.limb(0), factor) + wide(sum[0], 1)) >> 64) as u64;
        for index in 1..limbs {
            let product = wide(n.limb(index), factor) + wide(sum[index], 1) + wide(carry, 1);
            sum[index - 1] = product as u64;
            carry = (product >> 64) as u64;
        }
        let (top, again) = top.overflowing_add(carry);
        sum[limbs - 1] = top;
        sum[limbs] = u64::from(beyond) + u64::from(again);
    }
    while sum[limbs] > 0 || !is_less(&sum[..limbs], n) {
        let mut borrow = false;
        for (index, limb) in sum[..limbs].iter_mut().enumerate() {
            let (less, first) = limb.overflowing_sub(n.limb(index));
            let (less, second) = less.overflowing_sub(borrow.into());
            *limb = less;
            borrow = first || second;
        }
        sum[limbs] -= u64::from(borrow);
    }
    sum[..limbs].iter().enumerate().for_each(|(index, limb)| product.set_limb(index, *limb));
    true
}

/// Least significant limb first.
fn is_less(limbs: &[u64], n: Words) -> bool {
    let differs = (0..limbs.len()).rev().find(|index| limbs[*index] != n.limb(*index));
    differs.is_some_and(|index| limbs[index] < n.limb(index))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &mut [u32]) -> Words {
        Words { start: words.as_mut_ptr(), count: words.len() }
    }

    /// Schoolbook multiplication, word by word.
    fn add_product_slowly(out: &mut [u32], number: &[u32], factor: u64) -> u64 {
        let mut carry = 0u128;
        for (out, word) in out.iter_mut().zip(number).rev() {
            carry += u128::from(*word) * u128::from(factor) + u128::from(*out);
            *out = carry as u32;
            carry >>= 32;
        }
        carry as u64
    }

    #[test]
    fn limbs_give_what_words_give() {
        let mut state = 0x9e37_79b9_7f4a_7c15u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            // Extremes are as likely as anything else.
            match state >> 61 {
                0 => 0,
                1 => u64::MAX,
                _ => state.rotate_left(29),
            }
        };
        for count in (1..20).cycle().take(400) {
            let mut number: Vec<u32> = (0..count).map(|_| random() as u32).collect();
            let mut out: Vec<u32> = (0..count).map(|_| random() as u32).collect();
            let factor = random();
            let mut expected = out.clone();
            let expected_carry = add_product_slowly(&mut expected, &number, factor);
            let carry = add_product(words(&mut out), words(&mut number), factor);
            assert_eq!((carry, out), (expected_carry, expected), "{number:x?} * {factor:x}");
        }
    }
}
