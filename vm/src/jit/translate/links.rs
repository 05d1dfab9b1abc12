//! Functions that code calls: itself, and Rust functions and stubs by their addresses.
//!
//! An address that is a constant of the function is shared by the optimizer, which keeps it in a register from the
//! first call to the last, or across a loop whose calls are all rare. As the name of a function it is part of the call.

use cranelift_codegen::binemit::Reloc;
use cranelift_codegen::ir::{
    ExtFuncData, ExternalName, FuncRef, Function, SigRef, UserExternalName,
};
use cranelift_codegen::{CompiledCode, FinalizedMachReloc, FinalizedRelocTarget};

/// The function that is being translated.
pub const ITSELF: UserExternalName = UserExternalName { namespace: 0, index: 0 };

/// Declares the function at an address.
pub fn declare(func: &mut Function, address: usize, signature: SigRef) -> FuncRef {
    let name = UserExternalName::new((address >> 32) as u32, address as u32);
    assert!(name != ITSELF, "a function at address 0");
    declare_named(func, name, signature, false)
}

/// Declares the function that is being translated.
pub fn declare_itself(func: &mut Function, signature: SigRef) -> FuncRef {
    declare_named(func, ITSELF, signature, true)
}

fn declare_named(
    func: &mut Function,
    name: UserExternalName,
    signature: SigRef,
    colocated: bool,
) -> FuncRef {
    let name = ExternalName::user(func.declare_imported_user_function(name));
    func.import_function(ExtFuncData { name, signature, colocated, patchable: false })
}

/// The code of a function that was compiled, with the addresses of what it calls. An error if it names anything else
/// than was declared here.
pub fn link(func: &Function, compiled: &CompiledCode) -> Result<Vec<u8>, String> {
    let mut code = compiled.buffer.data().to_vec();
    for relocation in compiled.buffer.relocs() {
        resolve(func, &mut code, relocation)?;
    }
    Ok(code)
}

/// Writes what a relocation stands for.
fn resolve(
    func: &Function,
    code: &mut [u8],
    relocation: &FinalizedMachReloc,
) -> Result<(), String> {
    let FinalizedRelocTarget::ExternalName(ExternalName::User(name)) = relocation.target else {
        return Err(format!("relocation {relocation:?}"));
    };
    let name = &func.params.user_named_funcs()[name];
    let (offset, addend) = (relocation.offset as usize, relocation.addend);
    match relocation.kind {
        Reloc::X86CallPCRel4 if *name == ITSELF => {
            // The distance from there to the beginning.
            let distance = addend as i32 - offset as i32;
            code[offset..offset + 4].copy_from_slice(&distance.to_le_bytes());
        }
        Reloc::Abs8 if *name != ITSELF => {
            let address = u64::from(name.namespace) << 32 | u64::from(name.index);
            let address = address.wrapping_add_signed(addend);
            code[offset..offset + 8].copy_from_slice(&address.to_le_bytes());
        }
        _ => return Err(format!("relocation {relocation:?}")),
    }
    Ok(())
}
