//! `sin`, `log`, `pow` and their like of `java.lang.Math`.
//!
//! The class library hands them to `StrictMath`, whose last bit is laid down (fdlibm). `Math` may be a unit in the last
//! place off, as long as it rises where the function rises, and HotSpot has its own functions for it, whose results
//! are the nearest `double` nearly always. So are those of the C library, which therefore agree with HotSpot's in
//! 99.6 to 99.95 % of the results, fdlibm's in 85 to 97 %; and they are faster. A program that prints sums of
//! logarithms should print the same on both VMs.
//!
//! Interpreter and compiled code call the same functions, so that results do not change when a method is compiled.
//! `-XX:-UseLibmIntrinsic`: those of `StrictMath`.

use crate::options::jit::JitOptions;
use crate::runtime::MethodRef;

/// A function of one or two arguments. Leaf: touches no object and never blocks.
#[derive(Clone, Copy)]
pub enum Elementary {
    One(extern "C" fn(f64) -> f64),
    Two(extern "C" fn(f64, f64) -> f64),
}

impl Elementary {
    /// The function that a method computes, if it is one of these and the options want it.
    pub fn of(options: &JitOptions, method: MethodRef) -> Option<Elementary> {
        let holder = method.holder;
        if !options.uses_libm
            || holder.name.bytes() != b"java/lang/Math"
            || !holder.loader.is_boot()
        {
            return None;
        }
        Some(match (method.name().bytes(), method.descriptor().bytes()) {
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
        }
    }

    /// Computes the result word from the stack slots of the arguments, of which each takes two, the value in the first.
    pub fn compute(self, slots: &[u64]) -> u64 {
        let argument = |n: usize| f64::from_bits(slots[2 * n]);
        let result = match self {
            Elementary::One(function) => function(argument(0)),
            Elementary::Two(function) => function(argument(0), argument(1)),
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
}
