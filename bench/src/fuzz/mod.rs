//! Random programs that find differences between the VM and HotSpot.
//!
//! There are two generators. One writes Java ([`program`]): everything that programs do, in combinations that no
//! programmer writes. The other writes class files ([`bytecode`]): everything that the verifier lets through, in
//! shapes that no compiler makes. Both are valid by construction and end by construction: a Java method has a budget
//! of expressions, a generated one a counter that each of its blocks tests.
//!
//! A program calls its methods thousands of times, so that they are interpreted first and compiled later, and folds
//! all that they compute, catch and leave in fields into one checksum. [`judge`] compares the outputs; [`reduce`]
//! makes a program that differs small by leaving out parts of its tree, a class by shortening its blocks.
//!
//! Nothing that a VM is free to choose may reach the checksum: identity hashes, the bits of a NaN, last digits of
//! transcendental functions, when a collection happens.

pub mod body;
pub mod bytecode;
pub mod classfile;
pub mod constants;
pub mod expressions;
pub mod instructions;
pub mod judge;
pub mod opcodes;
pub mod plan;
pub mod program;
pub mod reduce;
pub mod statements;
pub mod tree;
pub mod types;
