//! Source locations of Cranelift's instructions: they number safepoints, and the bytecode instructions of a profile.

use super::Translator;
use crate::runtime::code::positions::{NewPositions, Positions};
use cranelift_codegen::ir::SourceLoc;
use cranelift_codegen::{Final, MachBufferFinalized};

/// Source location of instructions that are no safepoints.
pub(super) const LEAF: u32 = u32::MAX - 1;
/// From here on locations are those of bytecode instructions, [`LEAF`] excepted; below, safepoints are numbered.
pub(super) const POSITIONS: u32 = 1 << 31;

impl Translator<'_> {
    /// What is emitted from now on belongs to the present instruction of the innermost scope.
    pub(super) fn begin_position(&mut self) {
        let Some(positions) = &mut self.positions else { return };
        let [.., scope] = &mut self.scopes[..] else { return };
        let number = positions.add(scope.called_at, scope.method, scope.bci);
        scope.position = Some(number);
        self.leave_safepoint();
    }

    /// What is emitted from now on is no safepoint.
    pub(super) fn leave_safepoint(&mut self) {
        let position = self.scopes.last().and_then(|scope| scope.position);
        let location = position.map_or(LEAF, |number| POSITIONS | number);
        self.b.set_srcloc(SourceLoc::new(location));
    }
}

/// The parts of the code that belong to instructions.
pub(super) fn locate(
    buffer: &MachBufferFinalized<Final>,
    new: Option<NewPositions>,
) -> Option<Positions> {
    let of_instructions = buffer.get_srclocs_sorted().iter().filter_map(|part| {
        let bits = part.loc.bits();
        (POSITIONS..LEAF).contains(&bits).then_some((part.start, part.end, bits - POSITIONS))
    });
    Some(new?.pack(of_instructions))
}
