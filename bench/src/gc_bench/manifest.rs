//! The list of workloads, `workloads/manifest.toml`. The top of that file says what each key means.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// All workloads, in the order of the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Manifest {
    #[serde(rename = "workload")]
    pub workloads: Vec<Workload>,
    /// Options that several workloads share, by name.
    #[serde(default)]
    options: BTreeMap<String, Vec<String>>,
    /// Where the manifest lies; sources are found from there.
    #[serde(skip)]
    pub folder: PathBuf,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    pub name: String,
    pub about: String,
    pub suite: Suite,
    pub main: String,
    pub sources: Vec<PathBuf>,
    /// Debian packages with the libraries of the class path.
    #[serde(default)]
    pub packages: Vec<String>,
    #[serde(default)]
    pub class_path: Vec<String>,
    /// For every VM. Once [`Manifest::read`] has returned, shared options stand in the place of their names, and the
    /// manifest's folder in that of [`FOLDER`].
    #[serde(default)]
    pub options: Vec<String>,
    /// Threads of its own that work at a time.
    pub threads: u32,
    #[serde(default = "wall")]
    pub metric: String,
    #[serde(default)]
    pub judged: Judged,
    pub sizes: BTreeMap<Size, Sizing>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Suite {
    /// Programs of this project that are of no other suite.
    Ours,
    /// Programs of this project in place of those that the papers ran.
    Papers,
    /// Programs of this project, each of which asks a collector for one thing.
    Studies,
    /// Programs that were written by others.
    Real,
}

#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Size {
    Tiny,
    Small,
    Default,
    Large,
}

/// What of a program's output is its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    #[default]
    Stdout,
    /// The last line of standard output; the others hold times.
    LastLine,
}

/// A workload at one size.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sizing {
    /// Separated by spaces.
    pub arguments: String,
    /// As `-Xmx` takes it.
    pub heap: String,
    /// What is reachable at the peak, estimated.
    pub live: String,
    /// Hash of the result, as [`Judged::hash`] makes it.
    pub output: Option<String>,
}

impl Manifest {
    /// Reads the manifest at `path`, and checks what the types do not.
    pub fn read(path: &Path) -> io::Result<Manifest> {
        let wrong = |what: String| io::Error::other(format!("{}: {what}", path.display()));
        let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let folder = if folder == Path::new("") { Path::new(".") } else { folder };
        let mut manifest = Manifest::parse(&text).map_err(wrong)?;
        manifest.folder = folder.canonicalize()?;
        let options = manifest.workloads.iter_mut().flat_map(|workload| &mut workload.options);
        for option in options.filter(|option| option.contains(FOLDER)) {
            let folder = manifest
                .folder
                .to_str()
                .ok_or_else(|| wrong("its folder's name is no text".to_string()))?;
            *option = option.replace(FOLDER, folder);
        }
        Ok(manifest)
    }

    fn parse(text: &str) -> Result<Manifest, String> {
        let mut manifest: Manifest = toml::from_str(text).map_err(|error| error.to_string())?;
        for at in 0..manifest.workloads.len() {
            let (before, rest) = manifest.workloads.split_at_mut(at);
            let workload = &mut rest[0];
            if before.iter().any(|other| other.name == workload.name) {
                return Err(format!("there are two workloads {}", workload.name));
            }
            workload.check().map_err(|what| format!("{}: {what}", workload.name))?;
            workload.options = expand(&workload.options, &manifest.options)
                .map_err(|what| format!("{}: {what}", workload.name))?;
        }
        Ok(manifest)
    }

    pub fn find(&self, name: &str) -> io::Result<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.workloads.iter().map(|w| w.name.as_str()).collect();
            io::Error::other(format!("no workload {name}; there are {}", names.join(", ")))
        })
    }
}

impl Workload {
    fn check(&self) -> Result<(), String> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if self.name.is_empty() || !self.name.chars().all(plain) {
            return Err("a name consists of small letters, digits and hyphens".to_string());
        }
        if self.sizes.is_empty() || self.sources.is_empty() {
            return Err("it has no sizes or no sources".to_string());
        }
        for (size, sizing) in &self.sizes {
            for bytes in [&sizing.heap, &sizing.live] {
                bytes_of(bytes)
                    .ok_or_else(|| format!("{size}: {bytes:?} is no size such as 64m"))?;
            }
            if bytes_of(&sizing.live) > bytes_of(&sizing.heap) {
                return Err(format!("{size}: more is live than the heap holds"));
            }
            let is_hash = |text: &String| {
                text.len() == HASH_DIGITS
                    && text.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'))
            };
            if sizing.output.as_ref().is_some_and(|hash| !is_hash(hash)) {
                return Err(format!("{size}: the output's hash is not {HASH_DIGITS} digits"));
            }
        }
        Ok(())
    }

    /// The workload at `size`.
    pub fn sizing(&self, size: Size) -> io::Result<&Sizing> {
        let missing = || io::Error::other(format!("{} has no size {size}", self.name));
        self.sizes.get(&size).ok_or_else(missing)
    }
}

impl Judged {
    /// SHA-256 of the result in `stdout`, the first 16 hexadecimal digits.
    pub fn hash(self, stdout: &[u8]) -> String {
        use sha2::Digest;
        let result = match self {
            Judged::Stdout => stdout,
            Judged::LastLine => {
                let text = stdout.strip_suffix(b"\n").unwrap_or(stdout);
                text.rsplit(|byte| *byte == b'\n').next().unwrap_or(text)
            }
        };
        let digest = sha2::Sha256::digest(result);
        digest.iter().take(HASH_DIGITS / 2).map(|byte| format!("{byte:02x}")).collect()
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Size::Tiny => "tiny",
            Size::Small => "small",
            Size::Default => "default",
            Size::Large => "large",
        })
    }
}

/// Bytes of a size such as `64m`, `2g`, `512k` or `1048576`.
pub fn bytes_of(text: &str) -> Option<u64> {
    let shift = match text.bytes().last()?.to_ascii_lowercase() {
        b'k' => 10,
        b'm' => 20,
        b'g' => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

fn expand(
    options: &[String],
    shared: &BTreeMap<String, Vec<String>>,
) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    for option in options {
        match option.strip_prefix('@') {
            None => all.push(option.clone()),
            Some(name) => {
                all.extend_from_slice(shared.get(name).ok_or(format!("no options {name}"))?);
            }
        }
    }
    Ok(all)
}

fn wall() -> String {
    WALL.to_string()
}

/// The time of the whole process, in seconds.
pub const WALL: &str = "wall_s";

/// In an option it stands for the folder of the manifest.
const FOLDER: &str = "{workloads}";

const HASH_DIGITS: usize = 16;

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A manifest with one workload.
    pub fn example() -> Manifest {
        Manifest::parse(ENTRY).unwrap()
    }

    const ENTRY: &str = r#"
        [[workload]]
        name = "a"
        about = "does something"
        suite = "real"
        main = "A"
        sources = ["a"]
        options = ["-Da=b", "@open"]
        threads = 2
        sizes.tiny = { arguments = "1 2", heap = "64m", live = "1m", output = "0123456789abcdef" }
        sizes.large = { arguments = "9", heap = "1g", live = "1g" }
        [options]
        open = ["--add-opens=x/y=Z", "-ea"]
    "#;

    fn error(from: &str, to: &str) -> String {
        assert!(ENTRY.contains(from));
        Manifest::parse(&ENTRY.replacen(from, to, 1)).unwrap_err()
    }

    #[test]
    fn an_entry_is_read_with_its_shared_options() {
        let manifest = Manifest::parse(ENTRY).unwrap();
        let workload = manifest.find("a").unwrap();
        assert_eq!(workload.options, ["-Da=b", "--add-opens=x/y=Z", "-ea"]);
        assert_eq!(workload.metric, WALL);
        assert_eq!(workload.judged, Judged::Stdout);
        assert_eq!(workload.sizing(Size::Tiny).unwrap().arguments, "1 2");
        let missing = workload.sizing(Size::Small).unwrap_err().to_string();
        assert_eq!(missing, "a has no size small");
        assert!(manifest.find("b").unwrap_err().to_string().contains("there are a"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(error("threads = 2", "thread = 2").contains("thread"));
        assert!(error("name = \"a\"", "name = \"A b\"").contains("small letters"));
        assert!(error("\"@open\"", "\"@closed\"").contains("a: no options closed"));
        assert!(error("live = \"1m\"", "live = \"65m\"").contains("tiny: more is live"));
        assert!(error("heap = \"64m\"", "heap = \"m\"").contains("tiny: \"m\" is no size"));
        assert!(error("abcdef", "abcdeg").contains("hash"));
        assert!(error("sizes.large", "sizes.huge").contains("huge"));
        let twice = ENTRY.replace(
            "[options]",
            &format!("{}\n[options]", &ENTRY[..ENTRY.find("[options]").unwrap()]),
        );
        assert!(Manifest::parse(&twice).unwrap_err().contains("two workloads a"));
    }

    #[test]
    fn sizes_in_bytes() {
        assert_eq!(bytes_of("64m"), Some(64 << 20));
        assert_eq!(bytes_of("3G"), Some(3 << 30));
        assert_eq!(bytes_of("12"), Some(12));
        for text in ["", "m", "-1m", "1t", "99999999999g"] {
            assert_eq!(bytes_of(text), None, "{text}");
        }
    }

    #[test]
    fn only_the_judged_part_is_hashed() {
        let hash = |judged: Judged, text: &str| judged.hash(text.as_bytes());
        // SHA-256 of "abc", from its specification (FIPS 180-4).
        assert_eq!(hash(Judged::Stdout, "abc"), "ba7816bf8f01cfea");
        assert_eq!(hash(Judged::LastLine, "times 7\nabc\n"), "ba7816bf8f01cfea");
        assert_ne!(hash(Judged::Stdout, "abc\n"), hash(Judged::Stdout, "abc"));
    }

    #[test]
    fn the_manifest_of_the_project_is_right() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads/manifest.toml");
        let manifest = Manifest::read(&path).unwrap();
        for workload in &manifest.workloads {
            for source in &workload.sources {
                assert!(manifest.folder.join(source).exists(), "{}: no {source:?}", workload.name);
            }
            assert_eq!(workload.sizes.len(), 4, "{} lacks a size", workload.name);
        }
        let compile = manifest.find("study-javac").unwrap();
        assert_eq!(compile.options, [format!("-Dworkloads={}", manifest.folder.display())]);
    }
}
