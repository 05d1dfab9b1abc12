//! The folder for files that are downloaded or measured once per machine.

use std::io;
use std::path::PathBuf;

/// `$XDG_CACHE_HOME/farheap`, else `~/.cache/farheap`; made if missing.
pub fn folder() -> io::Result<PathBuf> {
    let set = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = set("XDG_CACHE_HOME")
        .or_else(|| set("HOME").map(|home| home.join(".cache")))
        .ok_or_else(|| io::Error::other("neither XDG_CACHE_HOME nor HOME is set"))?;
    let path = base.join("farheap");
    std::fs::create_dir_all(&path)?;
    Ok(path)
}
