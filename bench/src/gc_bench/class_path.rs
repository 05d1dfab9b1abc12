//! Where the libraries of a workload are on this machine.

use std::io;
use std::path::{Path, PathBuf};

use crate::gc_bench::manifest::Workload;
use crate::harness::cache;

/// The folders that a manifest's class path names.
pub struct Libraries {
    debian: PathBuf,
    cache: PathBuf,
}

impl Libraries {
    /// Debian's Java libraries, and Farheap's cache folder.
    pub fn find() -> io::Result<Libraries> {
        Ok(Libraries { debian: PathBuf::from("/usr/share/java"), cache: cache::folder()? })
    }

    /// The files of a workload's class path, in its order. The error says what is missing, and what to do.
    pub fn class_path(&self, workload: &Workload) -> io::Result<Vec<PathBuf>> {
        let mut files = Vec::new();
        for entry in &workload.class_path {
            let found = self.files(entry).map_err(|what| {
                io::Error::other(format!(
                    "{}: {what}; install it with `make setup-apps`",
                    workload.name
                ))
            })?;
            files.extend(found);
        }
        Ok(files)
    }

    fn files(&self, entry: &str) -> Result<Vec<PathBuf>, String> {
        let (folder, pattern) = match entry.split_once(':') {
            Some(("debian", rest)) => (&self.debian, rest),
            Some(("cache", rest)) => (&self.cache, rest),
            _ => return Err(format!("{entry:?} begins with neither debian: nor cache:")),
        };
        let pattern = folder.join(pattern);
        let names = pattern.file_name().map(|name| name.to_string_lossy().into_owned());
        let (Some(names), Some(folder)) = (names, pattern.parent()) else {
            return Err(format!("{entry:?} names no file"));
        };
        let mut found = matching(folder, &names);
        found.sort();
        match found.is_empty() {
            true => Err(format!("there is no {}", pattern.display())),
            false => Ok(found),
        }
    }
}

/// Files in `folder` whose name is `pattern`; a folder that cannot be read has none.
fn matching(folder: &Path, pattern: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let fits = |path: &PathBuf| {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        name.is_some_and(|name| is_match(&name, pattern)) && path.is_file()
    };
    entries.map(|entry| entry.path()).filter(fits).collect()
}

/// Whether `name` is `pattern`, in which each `*` stands for any text.
fn is_match(name: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harness::scratch::Scratch;

    #[test]
    fn stars_stand_for_any_text() {
        assert!(is_match("lucene-core-8.7.0.jar", "lucene-core-8.*.jar"));
        assert!(is_match("a.jar", "*.jar") && is_match("a.jar", "a.jar") && is_match("abc", "*b*"));
        assert!(!is_match("lucene-core-9.0.jar", "lucene-core-8.*.jar"));
        assert!(!is_match("a.jar.part", "*.jar") && !is_match("ab.jar", "a.jar"));
        assert!(!is_match("aba", "aba*aba"));
    }

    #[test]
    fn files_are_found_in_order_and_missing_ones_are_named() {
        let scratch = Scratch::new("libraries").unwrap();
        let folder = scratch.folder("spark/jars").unwrap();
        for name in ["b.jar", "a.jar", "a.txt"] {
            std::fs::write(folder.join(name), "").unwrap();
        }
        let libraries =
            Libraries { debian: scratch.path().into(), cache: scratch.path().join("spark") };
        let found = libraries.files("cache:jars/*.jar").unwrap();
        assert_eq!(found, [folder.join("a.jar"), folder.join("b.jar")]);
        assert!(libraries.files("debian:a.jar").unwrap_err().contains("there is no "));
        assert!(libraries.files("a.jar").unwrap_err().contains("neither debian: nor cache:"));
    }
}
