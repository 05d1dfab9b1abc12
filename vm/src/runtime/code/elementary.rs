//! `sin`, `log`, `pow` and their like of `java.lang.Math`, and `fma`.
//!
//! The class library hands them to `StrictMath`, whose last bit is laid down (fdlibm). `Math` may be a unit in the last
//! place off, as long as it rises where the function rises, and HotSpot has its own functions for it, whose results
//! are the nearest `double` nearly always. So are those of the C library, which therefore agree with HotSpot's in
//! 99.6 to 99.95 % of the results, fdlibm's in 85 to 97 %; and they are faster. A program that prints sums of
//! logarithms should print the same on both VMs.
//!
//! Interpreter and compiled code call the same functions, so that results do not change when a method is compiled.
//! `-XX:-UseLibmIntrinsic`: those of `StrictMath`.
//!
//! `fma` has one right result, which the class library finds with `BigDecimal`. The C library's function finds it
//! with the CPU's instruction or without. `-XX:-UseFMA`: the class library's.

use crate::options::jit::JitOptions;
use crate::runtime::MethodRef;

/// A function of one to three arguments. Leaf: touches no object and never blocks.
#[derive(Clone, Copy)]
pub enum Elementary {
    One(extern "C" fn(f64) -> f64),
    Two(extern "C" fn(f64, f64) -> f64),
    /// The product of two numbers plus a third one, rounded once.
    Fma,
    /// The same of floats.
    FloatFma,
}

impl Elementary {
    /// The function that a method computes, if it is one of these and the options want it.
    pub fn of(options: &JitOptions, method: MethodRef) -> Option<Elementary> {
        let holder = method.holder;
        if holder.name.bytes() != b"java/lang/Math" || !holder.loader.is_boot() {
            return None;
        }
        let (name, descriptor) = (method.name().bytes(), method.descriptor().bytes());
        if name == b"fma" {
            let is_float = descriptor == b"(FFF)F";
            let function = if is_float { Elementary::FloatFma } else { Elementary::Fma };
            return options.uses_fma.then_some(function);
        }
        if !options.uses_libm {
            return None;
        }
        Some(match (name, descriptor) {
            (b"sin", b"(D)D") => Elementary::One(sin),
            (b"cos", b"(D)D") => Elementary::One(cos),
            (b"tan", b"(D)D") => Elementary::One(tan),
            (b"exp", b"(D)D") => Elementary::One(exp),
            (b"log", b"(D)D") => Elementary::One(log),
            (b"log10", b"(D)D") => Elementary::One(log10),
            (b"pow", b"(DD)D") => Elementary::Two(pow),
            _ => return None,
        })
    }

    /// The function's address.
    pub fn address(self) -> usize {
        match self {
            Elementary::One(function) => function as *const () as usize,
            Elementary::Two(function) => function as *const () as usize,
            Elementary::Fma => fma as *const () as usize,
            Elementary::FloatFma => fmaf as *const () as usize,
        }
    }

    /// Computes the result word from the stack slots of the arguments. A double takes two, the value in the first.
    pub fn compute(self, slots: &[u64]) -> u64 {
        let argument = |n: usize| f64::from_bits(slots[2 * n]);
        let result = match self {
            Elementary::One(function) => function(argument(0)),
            Elementary::Two(function) => function(argument(0), argument(1)),
            Elementary::Fma => fma(argument(0), argument(1), argument(2)),
            Elementary::FloatFma => {
                let [a, b, c] = std::array::from_fn(|slot| f32::from_bits(slots[slot] as u32));
                return fmaf(a, b, c).to_bits().into();
            }
        };
        result.to_bits()
    }
}

// The C library's.
unsafe extern "C" {
    safe fn sin(x: f64) -> f64;
    safe fn cos(x: f64) -> f64;
    safe fn tan(x: f64) -> f64;
    safe fn exp(x: f64) -> f64;
    safe fn log(x: f64) -> f64;
    safe fn fma(a: f64, b: f64, c: f64) -> f64;
    safe fn fmaf(a: f32, b: f32, c: f32) -> f32;
}

/// The C library's may be two units off; the CPU computes it with 64 bits, of which 53 are right but for the rare
/// case that the others lie just in the middle.
extern "C" fn log10(x: f64) -> f64 {
    if !(x > 0.0 && x < f64::INFINITY) {
        return x.log10();
    }
    let mut result = x;
    // SAFETY: reads and writes one double of ours; all that the floating-point stack holds is declared lost.
    unsafe {
        std::arch::asm!(
            "fldlg2",
            "fld qword ptr [{place}]",
            "fyl2x",
            "fstp qword ptr [{place}]",
            place = in(reg) &raw mut result,
            out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
            out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
            options(nostack),
        );
    }
    result
}

/// C takes 1 to any power for 1; in Java it is not a number where the exponent is none or infinite.
extern "C" fn pow(x: f64, y: f64) -> f64 {
    if y == 2.0 {
        return x * x;
    }
    if y.is_nan() || (y.is_infinite() && x.abs() == 1.0) {
        return f64::NAN;
    }
    x.powf(y)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_are_those_of_java() {
        let (one, inf, nan) = (1.0, f64::INFINITY, f64::NAN);
        assert!(pow(one, nan).is_nan() && pow(-one, inf).is_nan() && pow(one, -inf).is_nan());
        assert!(pow(nan, 1.0).is_nan() && pow(nan, 0.0) == 1.0 && pow(nan, -0.0) == 1.0);
        assert_eq!((pow(2.0, inf), pow(0.5, inf), pow(2.0, 10.0)), (inf, 0.0, 1024.0));
        assert_eq!(pow(-0.0, -3.0), -inf);
        assert!(pow(-2.0, 0.5).is_nan() && pow(-inf, 3.0) == -inf);
    }

    #[test]
    fn logarithms_of_powers_of_ten_are_whole() {
        for n in -300..300 {
            assert_eq!(log10(format!("1e{n}").parse().unwrap()), f64::from(n), "1e{n}");
        }
        assert!(log10(-1.0).is_nan() && log10(f64::NAN).is_nan());
        assert_eq!((log10(0.0), log10(f64::INFINITY)), (f64::NEG_INFINITY, f64::INFINITY));
        assert_eq!(log10(f64::from_bits(1)), -323.306_215_343_115_8);
    }

    #[test]
    fn arguments_are_the_first_slots_of_two() {
        let [two, ten] = [2.0_f64, 10.0].map(f64::to_bits);
        assert_eq!(Elementary::Two(pow).compute(&[two, 7, ten, 7]), 1024.0_f64.to_bits());
        assert_eq!(Elementary::One(exp).compute(&[0, 7]), 1.0_f64.to_bits());
    }

    #[test]
    fn products_and_sums_are_rounded_once() {
        let next = 1.0 + f64::EPSILON;
        let [a, c] = [next, -1.0 - 2.0 * f64::EPSILON].map(f64::to_bits);
        let expected = f64::EPSILON * f64::EPSILON;
        assert_eq!(Elementary::Fma.compute(&[a, 7, a, 7, c, 7]), expected.to_bits());
        let next = 1.0 + f32::EPSILON;
        let [a, c] = [next, -1.0 - 2.0 * f32::EPSILON].map(|float| u64::from(float.to_bits()));
        let expected = f32::EPSILON * f32::EPSILON;
        assert_eq!(Elementary::FloatFma.compute(&[a, a, c]), u64::from(expected.to_bits()));
    }
}
