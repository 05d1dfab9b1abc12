//! What the guard needs of a device that it swaps to.

/// A block device of this machine, made by us. Only the guard's main thread uses it.
pub trait BlockDevice {
    /// Its path under `/dev`.
    fn path(&self) -> &str;

    /// What it is, in words, as rows store it.
    fn model(&self) -> String;

    /// Removes it with all that is behind it; nobody swaps to it any more. Called once. The error says what is left.
    fn remove(&mut self) -> Result<(), String>;
}
