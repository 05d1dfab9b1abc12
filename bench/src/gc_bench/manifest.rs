//! The list of workloads, `workloads/manifest.toml`. The top of that file says what each key means.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use base::units::parse_bytes;
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

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Workload {
    pub name: String,
    pub about: String,
    pub suite: Suite,
    /// Whether it is one of the workloads for a first look.
    #[serde(default)]
    pub quick: bool,
    pub main: String,
    pub sources: Vec<PathBuf>,
    /// Debian packages with the libraries of the class path.
    #[serde(default)]
    pub packages: Vec<String>,
    #[serde(default)]
    pub class_path: Vec<String>,
    /// For every VM. Once [`Manifest::read`] has returned, shared options stand in the place of their names, and the
    /// manifest's folder in that of `FOLDER`.
    #[serde(default)]
    pub options: Vec<String>,
    /// Threads of its own that work at a time.
    pub threads: u32,
    /// Parts of its work, of each of which it prints the seconds as the figure [`phase_metric`].
    pub phases: Vec<String>,
    #[serde(default = "wall")]
    pub metric: String,
    /// The figure that counts where requests come at a rate; it makes an entry [`PACED`] of those sizes that have a
    /// rate.
    pub latency: Option<String>,
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
    /// Those of the others that serve requests, which come at a rate. Made of their entries.
    #[serde(skip)]
    Paced,
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

/// The part of a program's output that is its result.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Judged {
    #[default]
    Stdout,
    /// The last line of standard output; the others hold times.
    LastLine,
}

/// A workload at one size.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Sizing {
    /// Separated by spaces. Once [`Manifest::read`] has returned, a number stands in the place of `RATE`.
    pub arguments: String,
    /// Requests a second of the entry that is paced.
    pub rate: Option<u32>,
    /// As `-Xmx` takes it.
    pub heap: String,
    /// The size of the live set at the peak, estimated.
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
        let paced: Vec<Workload> = manifest.workloads.iter().filter_map(Workload::paced).collect();
        manifest.workloads.extend(paced);
        for sizing in manifest.workloads.iter_mut().flat_map(|workload| workload.sizes.values_mut())
        {
            sizing.arguments = sizing.arguments.replace(RATE, "0");
        }
        Ok(manifest)
    }

    /// Gives a workload other arguments at a size, as `NAME=ARGUMENTS` says. Its result is a peer's then.
    pub fn change(&mut self, what: &str, size: Size) -> io::Result<()> {
        let (name, arguments) = what
            .split_once('=')
            .ok_or_else(|| io::Error::other(format!("{what:?} is not WORKLOAD=ARGUMENTS")))?;
        self.find(name)?.sizing(size)?;
        let workload = self.workloads.iter_mut().find(|workload| workload.name == name);
        let sizing = workload.and_then(|found| found.sizes.get_mut(&size)).expect("it was found");
        sizing.arguments = arguments.to_string();
        sizing.output = None;
        Ok(())
    }

    pub fn find(&self, name: &str) -> io::Result<&Workload> {
        self.workloads.iter().find(|workload| workload.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.workloads.iter().map(|w| w.name.as_str()).collect();
            io::Error::other(format!(
                "unknown workload {name}: must be one of {}",
                names.join(", ")
            ))
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
        if self.phases.is_empty() {
            return Err("it has no phases".to_string());
        }
        for (size, sizing) in &self.sizes {
            for bytes in [&sizing.heap, &sizing.live] {
                parse_bytes(bytes)
                    .ok_or_else(|| format!("{size}: {bytes:?} is not a size such as 64m"))?;
            }
            if parse_bytes(&sizing.live) > parse_bytes(&sizing.heap) {
                return Err(format!("{size}: more is live than the heap holds"));
            }
            if sizing.rate.is_some() && (self.latency.is_none() || !sizing.arguments.contains(RATE))
            {
                return Err(format!(
                    "{size}: a rate needs `latency`, and {RATE} among the arguments"
                ));
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

    /// The same with requests that come at a rate.
    fn paced(&self) -> Option<Workload> {
        let mut paced = Workload {
            name: format!("{}{PACED}", self.name),
            about: format!("{}; at a fixed rate", self.about),
            suite: Suite::Paced,
            quick: false,
            metric: self.latency.clone()?,
            ..self.clone()
        };
        paced.sizes.retain(|_, sizing| sizing.rate.is_some());
        for sizing in paced.sizes.values_mut() {
            let rate = sizing.rate.expect("the others are gone").to_string();
            sizing.arguments = sizing.arguments.replace(RATE, &rate);
        }
        (!paced.sizes.is_empty()).then_some(paced)
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

/// The figure that says how many seconds a phase took.
pub fn phase_metric(phase: &str) -> String {
    format!("{phase}_s")
}

fn wall() -> String {
    WALL.to_string()
}

/// The time of the whole process, in seconds.
pub const WALL: &str = "wall_s";

/// In an option it stands for the folder of the manifest.
const FOLDER: &str = "{workloads}";

/// In arguments it stands for a rate: 0, as fast as possible, or that of the paced entry.
const RATE: &str = "{rate}";

/// The end of the names of entries whose requests come at a rate.
pub const PACED: &str = "-paced";

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
        phases = ["load"]
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
        assert!(manifest.find("b").unwrap_err().to_string().contains("must be one of a"));
    }

    #[test]
    fn mistakes_are_named() {
        assert!(error("threads = 2", "thread = 2").contains("thread"));
        assert!(error("name = \"a\"", "name = \"A b\"").contains("small letters"));
        assert!(error("\"@open\"", "\"@closed\"").contains("a: no options closed"));
        assert!(error("live = \"1m\"", "live = \"65m\"").contains("tiny: more is live"));
        assert!(error("heap = \"64m\"", "heap = \"m\"").contains("tiny: \"m\" is not a size"));
        assert!(error("abcdef", "abcdeg").contains("hash"));
        assert!(error("sizes.large", "sizes.huge").contains("huge"));
        let twice = ENTRY.replace(
            "[options]",
            &format!("{}\n[options]", &ENTRY[..ENTRY.find("[options]").unwrap()]),
        );
        assert!(Manifest::parse(&twice).unwrap_err().contains("two workloads a"));
    }

    #[test]
    fn arguments_can_be_others() {
        let mut manifest = example();
        manifest.change("a=3 -x=4", Size::Tiny).unwrap();
        let sizing = manifest.find("a").unwrap().sizing(Size::Tiny).unwrap();
        assert_eq!((sizing.arguments.as_str(), &sizing.output), ("3 -x=4", &None));
        assert_eq!(manifest.find("a").unwrap().sizing(Size::Large).unwrap().arguments, "9");
        for wrong in ["a", "b=1"] {
            assert!(manifest.change(wrong, Size::Tiny).is_err(), "{wrong}");
        }
        assert!(manifest.change("a=1", Size::Small).is_err());
    }

    #[test]
    fn what_has_a_rate_is_there_twice() {
        let with_rate = ENTRY.replace("\"1 2\"", "\"1 {rate} 2\", rate = 500");
        let entry = with_rate.replace("threads = 2", "threads = 2\nlatency = \"a_p99_us\"");
        let manifest = Manifest::parse(&entry).unwrap();
        let arguments = |name| {
            let workload = manifest.find(name).unwrap();
            (workload.sizing(Size::Tiny).unwrap().arguments.as_str(), workload.metric.as_str())
        };
        assert_eq!(arguments("a"), ("1 0 2", WALL));
        assert_eq!(arguments("a-paced"), ("1 500 2", "a_p99_us"));
        let paced = manifest.find("a-paced").unwrap();
        assert_eq!((paced.suite, paced.sizes.len()), (Suite::Paced, 1), "only sizes with a rate");
        assert_eq!(paced.sizing(Size::Tiny).unwrap().output.as_deref(), Some("0123456789abcdef"));
        assert!(Manifest::parse(&with_rate).unwrap_err().contains("tiny: a rate needs"));
        assert!(Manifest::parse(&entry.replace("{rate}", "7")).unwrap_err().contains("needs"));
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
            let sizes = if workload.suite == Suite::Paced { 2 } else { 4 };
            assert!(workload.sizes.len() >= sizes, "{} lacks a size", workload.name);
        }
        let quick: Vec<&Workload> = manifest.workloads.iter().filter(|one| one.quick).collect();
        assert!((5..=8).contains(&quick.len()), "a first look at {} workloads", quick.len());
        assert!(
            quick.iter().all(|one| one.class_path.is_empty()),
            "a fresh clone has no libraries"
        );
        let compile = manifest.find("study-javac").unwrap();
        assert_eq!(compile.options, [format!("-Dworkloads={}", manifest.folder.display())]);
    }
}
