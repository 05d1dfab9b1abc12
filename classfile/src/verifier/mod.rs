//! The verifier by type checking (JVMS 4.10.1), for class files of version 50 and later.
//!
//! One pass over each method. The `StackMapTable` gives the types at every join of control flow;
//! between joins the types follow from the instructions; at joins, at branches and at exception
//! handlers the types at hand must be assignable to the table's.
//!
//! 1. [`stack_map`] decodes the table into [`frame::Frame`]s.
//! 2. [`method`] walks the instructions with a current frame.
//! 3. [`instruction`] and [`members`] define the operands and results of each instruction.
//! 4. [`error`] words the complaint as `java` does, details included.
//!
//! The verifier reads the class file only, and asks a [`Hierarchy`] about other classes, which may
//! load them and so run Java. It holds no locks and no heap references meanwhile.
//!
//! Versions before 50 have no tables: [`uses_inference`] classes are passed to the JDK's
//! `libverify`, and version 50 may fall back to it.

#[cfg(test)]
mod against_java;
mod error;
mod frame;
mod instruction;
mod members;
mod method;
mod stack_map;
#[cfg(test)]
mod tests;
mod vtype;

pub use error::Failure;

use crate::ClassFile;
use crate::symbol::Symbol;
use method::MethodVerifier;
use vtype::{Descriptors, Types};

/// The verifier's questions about classes, named as the class being verified names them: answers
/// come from the classes that its defining loader finds. Every method may load classes.
pub trait Hierarchy {
    /// Why a class could not be loaded: in the VM, a pending Java exception.
    type Error;

    fn is_interface(&mut self, class: Symbol) -> Result<bool, Self::Error>;

    /// Whether `class` is `ancestor` or extends it, possibly through others; interfaces that it
    /// implements do not count. Neither name is an array's.
    fn is_subclass(&mut self, class: Symbol, ancestor: Symbol) -> Result<bool, Self::Error>;

    /// Whether looking a member up in `class`, a superclass of the class being verified, finds a
    /// protected one that a class of another run-time package declares. No such member: false.
    fn is_protected_elsewhere(
        &mut self,
        class: Symbol,
        name: Symbol,
        descriptor: Symbol,
        is_method: bool,
    ) -> Result<bool, Self::Error>;
}

/// Whether classes of this version are verified by inferring types, not by this crate.
pub fn uses_inference(major_version: u16) -> bool {
    major_version < 50
}

/// Whether a class of this version that this crate rejects gets a second chance by inference. Only
/// a [`Failure::Rejected`] does.
pub fn may_fall_back(major_version: u16) -> bool {
    major_version < 51
}

/// Verifies all methods of a class. `superclasses` are the names from its direct superclass up to
/// `java/lang/Object`.
///
/// The caller decides which classes need it. Besides the boot loader's, HotSpot leaves out the
/// subclasses of `jdk/internal/reflect/MagicAccessorImpl`, whose code is not meant to pass.
pub fn verify_class<H: Hierarchy>(
    class: &ClassFile,
    superclasses: &[Symbol],
    hierarchy: &mut H,
) -> Result<(), Failure<H::Error>> {
    let mut types = Types::new(hierarchy);
    let mut descriptors = Descriptors::default();
    for method in &class.methods {
        let Some(code) = &method.code else { continue };
        let mut verifier =
            MethodVerifier::new(class, superclasses, method, code, &mut types, &mut descriptors);
        if let Err(fault) = verifier.run() {
            return Err(fault.describe(class, method, code));
        }
    }
    Ok(())
}
