//! Debian packages fetched into the cache folder with a private apt configuration, so that the
//! machine's own package sources stay as they are.

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
        let mut sources = String::new();
        for kind in ["deb", "deb-src"] {
            for (host, suite) in [("debian", ""), ("debian-security", "-security")] {
                sources += &format!(
                    "{kind} [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] \
                     http://deb.debian.org/{host} {codename}{suite} main\n"
                );
            }
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

fn checked(command: &mut Command) -> io::Result<Output> {
    let output = command.output()?;
    if output.status.success() {
        return Ok(output);
    }
    let message = String::from_utf8_lossy(&output.stderr).trim().to_string();
    Err(io::Error::other(format!("{}: {message}", command.get_program().to_string_lossy())))
}
