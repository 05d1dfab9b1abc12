//! Modules and packages as the VM knows them.

/// All modules of one VM.
#[derive(Default)]
pub struct Modules {}
