//! The file of a pool of local memory.

/// Removes the file of a pool when dropped: it stays when all members are killed.
pub struct PoolFile(String);

impl PoolFile {
    /// Of the pool `name`, by the end of the file's name.
    pub fn of(name: &str) -> PoolFile {
        PoolFile(format!(".{name}"))
    }
}

impl Drop for PoolFile {
    fn drop(&mut self) {
        for file in std::fs::read_dir("/dev/shm").into_iter().flatten().flatten() {
            if file.file_name().to_string_lossy().ends_with(&self.0) {
                let _ = std::fs::remove_file(file.path());
            }
        }
    }
}
