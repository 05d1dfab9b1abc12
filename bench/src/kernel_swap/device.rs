//! The interface of a swap device to the guard.

/// A block device of this machine, made by us. Only the guard's main thread uses it.
pub trait BlockDevice {
    /// Its path under `/dev`.
    fn path(&self) -> &str;

    /// Its kind, in words, as rows store it.
    fn model(&self) -> String;

    /// Removes it with all that is behind it; the kernel must not swap to it any more. Called once. The error names
    /// what is left.
    fn remove(&mut self) -> Result<(), String>;
}
