//! Debian packages fetched into the cache folder with a private apt configuration, so that the
//! machine's own package sources stay as they are. Packages come from where the machine's own do.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A package index of our own under a cache folder.
pub struct Apt {
    folder: PathBuf,
}

impl Apt {
    /// Prepares the configuration under `cache` and reads the package lists.
    pub fn new(cache: &Path) -> io::Result<Apt> {
        let apt = Apt { folder: cache.join("apt") };
        for part in ["lists/partial", "cache/archives/partial"] {
            std::fs::create_dir_all(apt.folder.join(part))?;
        }
        let release = std::fs::read_to_string("/etc/os-release")?;
        let codename = release
            .lines()
            .find_map(|line| line.strip_prefix("VERSION_CODENAME="))
            .ok_or_else(|| io::Error::other("this machine's Debian release has no name"))?;
        let mut targets = Command::new("apt-get");
        targets.args(["indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)"]);
        let shown = checked(targets.arg("Created-By: Packages"))?;
        let sources = sources(&String::from_utf8_lossy(&shown.stdout), codename);
        if sources.is_empty() {
            return Err(io::Error::other(format!(
                "apt of this machine has no source of {codename}"
            )));
        }
        std::fs::write(apt.folder.join("sources.list"), sources)?;
        checked(apt.command("apt-get").arg("update"))?;
        Ok(apt)
    }

    /// Downloads the binary package `name` into `folder`.
    pub fn download(&self, name: &str, folder: &Path) -> io::Result<()> {
        std::fs::create_dir_all(folder)?;
        checked(self.command("apt-get").args(["download", name]).current_dir(folder))?;
        Ok(())
    }

    /// The packages that `name` depends on.
    pub fn depends(&self, name: &str) -> io::Result<Vec<String>> {
        let shown = checked(self.command("apt-cache").args(["depends", name]))?;
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix("Depends: "));
        Ok(lines.map(str::to_string).collect())
    }

    /// Downloads the newest source package `name` that the archive still holds; returns its
    /// version. An older one is tried where the newest has an index entry but no files.
    pub fn download_source(&self, name: &str, folder: &Path) -> io::Result<String> {
        std::fs::create_dir_all(folder)?;
        let shown = checked(self.command("apt-cache").args(["showsrc", name]))?;
        let text = String::from_utf8_lossy(&shown.stdout).into_owned();
        let mut versions: Vec<&str> =
            text.lines().filter_map(|line| line.strip_prefix("Version: ")).collect();
        // Within one release these differ in their numbers only, of equal width.
        versions.sort();
        versions.dedup();
        for version in versions.iter().rev() {
            let wanted = format!("{name}={version}");
            let mut command = self.command("apt-get");
            command.args(["source", "--download-only", &wanted]).current_dir(folder);
            if checked(&mut command).is_ok() {
                return Ok(version.to_string());
            }
        }
        Err(io::Error::other(format!("no version of the source package {name} can be downloaded")))
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let folder = self.folder.display();
        for option in [
            format!("Dir::Etc::SourceList={folder}/sources.list"),
            "Dir::Etc::SourceParts=/dev/null".to_string(),
            format!("Dir::State::Lists={folder}/lists"),
            format!("Dir::Cache={folder}/cache"),
            "APT::Sandbox::User=".to_string(),
        ] {
            command.arg("-o").arg(option);
        }
        command
    }
}

/// Lines of a list of sources: for binary and for source packages, of each main index of Debian's release in lines of
/// address, release and component.
fn sources(indexes: &str, codename: &str) -> String {
    let indexes = indexes.lines().filter(|line| {
        let mut words = line.split_whitespace().skip(1);
        let is_of_release = words.next().is_some_and(|release| release.starts_with(codename));
        is_of_release && words.next() == Some("main")
    });
    let indexes: BTreeSet<&str> = indexes.collect();
    let lines = indexes.into_iter().flat_map(|index| {
        let key = "signed-by=/usr/share/keyrings/debian-archive-keyring.gpg";
        ["deb", "deb-src"].map(|kind| format!("{kind} [{key}] {index}\n"))
    });
    lines.collect()
}

fn checked(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(io::Error::other(format!("{}: {message}", command.get_program().to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn main_indexes_of_the_release_are_sources() {
        let indexes = "http://a.example/debian/ bookworm main\n\
                       http://a.example/debian/ bookworm main\n\
                       http://a.example/debian-security/ bookworm-security main\n\
                       http://b.example/ nodistro main\n\
                       http://c.example/ bookworm stable\n";
        let found = sources(indexes, "bookworm");
        let lines: Vec<_> = found.lines().map(|line| line.split(' ').collect::<Vec<_>>()).collect();
        let of = |n: usize| [lines[n][0], lines[n][2], lines[n][3], lines[n][4]];
        assert_eq!(lines.len(), 4);
        assert_eq!(
            of(0),
            ["deb", "http://a.example/debian-security/", "bookworm-security", "main"]
        );
        assert_eq!(of(3), ["deb-src", "http://a.example/debian/", "bookworm", "main"]);
        assert_eq!(sources(indexes, "trixie"), "");
    }
}
