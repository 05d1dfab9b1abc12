//! Signatures of compiled functions.

use super::Kind;
use crate::runtime::MethodRef;
use classfile::BasicType;
use cranelift_codegen::ir::{AbiParam, Signature, types};
use cranelift_codegen::isa::CallConv;

/// Kinds of receiver and parameters.
pub fn kinds_of(method: MethodRef) -> impl Iterator<Item = Kind> {
    let receiver = (!method.is_static()).then_some(Kind::Ref);
    let parameters = method.parameters.iter().map(|ty| Kind::of(*ty).expect("no void parameter"));
    receiver.into_iter().chain(parameters)
}

pub fn method_signature(method: MethodRef) -> Signature {
    java_signature(kinds_of(method), method.return_type)
}

/// The convention of `jit`'s module text.
pub fn java_signature(parameters: impl Iterator<Item = Kind>, result: BasicType) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.push(AbiParam::new(types::I64));
    signature.params.extend(parameters.map(|kind| AbiParam::new(kind.clif())));
    signature.returns.extend(Kind::of(result).map(|kind| AbiParam::new(kind.clif())));
    signature
}

/// The method, and the address of the interpreter frame's locals.
pub fn osr_signature(result: BasicType) -> Signature {
    let mut signature = Signature::new(CallConv::SystemV);
    signature.params.extend([AbiParam::new(types::I64), AbiParam::new(types::I64)]);
    signature.returns.extend(Kind::of(result).map(|kind| AbiParam::new(kind.clif())));
    signature
}
