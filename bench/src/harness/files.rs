//! Whether files have changed.

use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Identifies one build of these files: their sizes and times.
pub fn identity(files: &[PathBuf]) -> io::Result<String> {
    let mut parts = Vec::new();
    for file in files {
        let wrong = |error| io::Error::other(format!("{}: {error}", file.display()));
        let of_file = std::fs::metadata(file).map_err(wrong)?;
        let time = of_file.modified()?.duration_since(std::time::UNIX_EPOCH);
        let seconds = time.map_or(0, |since| since.as_secs());
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        parts.push(format!("{name}: {} bytes, {seconds}", of_file.len()));
    }
    Ok(parts.join("; "))
}

/// A digest of all files under `folder`, names and contents.
pub fn digest(folder: &Path) -> io::Result<String> {
    let mut hash = Sha256::new();
    add(&mut hash, folder, folder)?;
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

fn add(hash: &mut Sha256, base: &Path, path: &Path) -> io::Result<()> {
    let wrong = |error| io::Error::other(format!("{}: {error}", path.display()));
    if path.is_dir() {
        let entries = std::fs::read_dir(path).map_err(wrong)?;
        let mut inside =
            entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<PathBuf>>>()?;
        inside.sort();
        return inside.iter().try_for_each(|entry| add(hash, base, entry));
    }
    let bytes = std::fs::read(path).map_err(wrong)?;
    let name = path.strip_prefix(base).unwrap_or(path).to_string_lossy();
    hash.update(format!("{}:{name}:{}:", name.len(), bytes.len()));
    hash.update(bytes);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    #[test]
    fn a_digest_is_of_names_and_contents() {
        let scratch = Scratch::new("digest").unwrap();
        let folder = scratch.folder("a").unwrap();
        std::fs::create_dir(folder.join("b")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).unwrap();
        write("b/one", "1");
        write("two", "2");
        let before = digest(&folder).unwrap();
        assert_eq!(digest(&folder).unwrap(), before);
        write("b/one", "3");
        let changed = digest(&folder).unwrap();
        std::fs::rename(folder.join("b/one"), folder.join("b/three")).unwrap();
        let renamed = digest(&folder).unwrap();
        assert!(before != changed && changed != renamed, "{before} {changed} {renamed}");
        let error = digest(&folder.join("none")).unwrap_err().to_string();
        assert!(error.contains("none"), "{error}");
        let files = [folder.join("two"), folder.join("b/three")];
        assert!(identity(&files).unwrap().starts_with("two: 1 bytes, "));
    }
}
