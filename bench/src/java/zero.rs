//! Debian's Zero VM, a portable interpreter for the same JDK: the yardstick of our interpreter.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::harness::apt::Apt;
use crate::harness::cache;
use crate::java::jdk::Jdk;

/// Zero's `libjvm.so`, laid out so that it finds the installed JDK's class library.
pub struct Zero {
    /// The folder that holds `libjvm.so`.
    folder: PathBuf,
}

impl Zero {
    /// Takes it from the cache folder; downloads and unpacks the package first if needed.
    ///
    /// Zero looks for the class library beside itself, so it lies in a folder like the JDK's, whose
    /// other entries are links.
    pub fn prepare(jdk: &Jdk) -> io::Result<Zero> {
        let root = cache::folder()?.join("zero");
        let home = root.join(format!("home-{}", jdk.version.replace('/', "_")));
        let folder = home.join("lib/zero");
        if !folder.join("libjvm.so").exists() {
            let unpacked = root.join("unpacked");
            if !unpacked.exists() {
                Apt::new(&cache::folder()?)?.download("openjdk-17-jre-zero", &root)?;
                unpack(&root, &unpacked)?;
            }
            let library = find(&unpacked, "libjvm.so")?
                .ok_or_else(|| io::Error::other("the package holds no libjvm.so"))?;
            std::fs::create_dir_all(&folder)?;
            link_all(&jdk.home, &home)?;
            link_all(&jdk.home.join("lib"), &home.join("lib"))?;
            std::fs::copy(library, folder.join("libjvm.so"))?;
        }
        Ok(Zero { folder })
    }

    /// A `java` command that runs on Zero.
    pub fn java(&self, jdk: &Jdk) -> Command {
        let mut command = jdk.java();
        command.arg(format!("-XXaltjvm={}", self.folder.display()));
        command
    }
}

/// Makes links in `to` for entries that `from` holds and `to` does not.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let link = to.join(entry.file_name());
        if link.symlink_metadata().is_err() {
            symlink(entry.path(), link)?;
        }
    }
    Ok(())
}

fn unpack(packages: &Path, target: &Path) -> io::Result<()> {
    for entry in std::fs::read_dir(packages)? {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == "deb") {
            let status = Command::new("dpkg-deb").arg("-x").arg(&path).arg(target).status()?;
            if status.success() {
                return Ok(());
            }
        }
    }
    Err(io::Error::other("the package of Zero cannot be unpacked"))
}

fn find(folder: &Path, name: &str) -> io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            if let Some(found) = find(&entry.path(), name)? {
                return Ok(Some(found));
            }
        } else if entry.file_name() == name {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}
