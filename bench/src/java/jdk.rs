//! The installed JDK 17: the judge of every comparison.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// An installed JDK 17 with a compiler.
#[derive(Clone)]
pub struct Jdk {
    pub home: PathBuf,
    /// The text of `java.runtime.version`, such as `17.0.15+6-Debian-1deb12u1`.
    pub version: String,
}

impl Jdk {
    /// Looks at `JAVA_HOME`, then at the usual places.
    pub fn find() -> io::Result<Jdk> {
        let named = std::env::var_os("JAVA_HOME").map(PathBuf::from);
        let mut places: Vec<PathBuf> = named.into_iter().collect();
        if let Ok(entries) = std::fs::read_dir("/usr/lib/jvm") {
            let mut found: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
            found.sort();
            places.extend(found);
        }
        places.into_iter().find_map(Jdk::at).ok_or_else(|| {
            io::Error::other("no JDK 17 found: install openjdk-17-jdk-headless or set JAVA_HOME")
        })
    }

    fn at(home: PathBuf) -> Option<Jdk> {
        let release = std::fs::read_to_string(home.join("release")).ok()?;
        let field = |key: &str| {
            let line = release.lines().find(|line| line.starts_with(key))?;
            Some(line[key.len()..].trim_matches(['=', '"']).to_string())
        };
        if !field("JAVA_VERSION=")?.starts_with("17") || !home.join("bin/javac").exists() {
            return None;
        }
        let version = field("JAVA_RUNTIME_VERSION=").or_else(|| field("JAVA_VERSION="))?;
        Some(Jdk { home, version })
    }

    /// A `java` command with the environment of [`plain`].
    pub fn java(&self) -> Command {
        plain(&self.home.join("bin/java"), self)
    }

    /// A `javac` command with the environment of [`plain`].
    pub fn javac(&self) -> Command {
        plain(&self.home.join("bin/javac"), self)
    }

    /// Compiles `sources` together into `classes`; the error holds the compiler's messages.
    pub fn compile(&self, sources: &[PathBuf], classes: &Path) -> io::Result<()> {
        let output = self.javac().arg("-nowarn").arg("-d").arg(classes).args(sources).output()?;
        if output.status.success() {
            return Ok(());
        }
        Err(io::Error::other(format!("javac: {}", String::from_utf8_lossy(&output.stderr))))
    }

    /// Compiles the class `name` of this source into `classes`, where the source is kept too.
    pub fn compile_text(&self, name: &str, source: &str, classes: &Path) -> io::Result<()> {
        let file = classes.join(format!("{name}.java"));
        std::fs::write(&file, source)?;
        self.compile(&[file], classes)
    }
}

/// A command whose environment does not depend on the user's: both VMs of a comparison get it.
pub fn plain(program: &Path, jdk: &Jdk) -> Command {
    let mut command = Command::new(program);
    command.env_clear();
    for name in ["PATH", "HOME", "USER", "TMPDIR"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC").env("JAVA_HOME", &jdk.home);
    command
}

/// All `.java` files under `workloads` that need nothing but the JDK, sorted: not those of `apps`, the drivers of
/// libraries.
pub fn own_sources(workloads: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = sources(workloads)?;
    found.retain(|file| !file.starts_with(workloads.join("apps")));
    Ok(found)
}

/// All `.java` files under `folder`, sorted.
pub fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(&next)? {
            let path = entry?.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "java") {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}
