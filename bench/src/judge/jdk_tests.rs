//! The OpenJDK regression tests as an outside judge: `make jdk-tests`.
//!
//! 1. The Debian source package of openjdk-17 is downloaded into the cache folder, once.
//! 2. A sample of the tests of each folder is drawn by the seed.
//! 3. [`jtreg`](super::jtreg) runs it on HotSpot, and keeps the outcomes by version and test.
//! 4. jtreg runs the same files on a `JAVA_HOME` of our VM. The summary counts, by folder, those of the tests that
//!    HotSpot passes that ours passes; a file has the others with the reasons.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;

use crate::harness::apt::Apt;
use crate::harness::cache;
use crate::harness::pool;
use crate::harness::rng::Rng;
use crate::harness::scratch::Scratch;
use crate::java::jdk::Jdk;
use crate::java::vm::Vm;
use crate::judge::jtreg::{Jtreg, Outcome};

/// Run the OpenJDK 17 regression tests on HotSpot and on our VM, by jtreg
#[derive(Args)]
pub struct Options {
    /// Folders or files, such as jdk/java/lang or hotspot/jtreg/gc [default: the folders of the library, and gc,
    /// compiler and runtime of HotSpot]
    folders: Vec<String>,
    /// Files of tests that are drawn from each folder. 0: all
    #[arg(long, default_value_t = 100)]
    number: usize,
    /// The seed of the draw
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The VM's executable [default: `vm` beside this program]
    #[arg(long)]
    vm: Option<PathBuf>,
    /// The collector of our VM
    #[arg(long, default_value = "g1")]
    gc: String,
    #[arg(long, default_value = "100%")]
    local_memory: String,
    #[arg(long, default_value_t = 1)]
    memory_servers: u32,
    /// Maximum heap of tests of the library that do not state one, for both VMs
    #[arg(long, default_value = "512m")]
    heap: String,
    /// More options for our VM, such as -Xint (repeat for several)
    #[arg(long, allow_hyphen_values = true)]
    vm_option: Vec<String>,
    /// Number of tests that run concurrently
    #[arg(long, default_value_t = pool::default_threads())]
    jobs: usize,
    /// Tests may take this many times as long as they say
    #[arg(long, default_value_t = 2.0)]
    timeout_factor: f64,
    /// Time limit of the tests of the library, and of those of HotSpot, on one VM, in minutes
    #[arg(long, default_value_t = 240)]
    limit: u64,
    /// Print the files that would be run, if the sources are there, and end
    #[arg(long)]
    list: bool,
    /// The folder for results
    #[arg(long, default_value = "target/jdk-tests")]
    results: PathBuf,
}

/// Runs the sample; true if our VM passes all that HotSpot passes.
pub fn run(options: &Options) -> io::Result<bool> {
    let cache = cache::folder()?;
    let suite = match (Sources::find(&cache)?, options.list) {
        (Some(sources), _) => sources,
        (None, true) => return Err(io::Error::other("the sources are not there yet")),
        (None, false) => Sources::download(&cache)?,
    };
    let folders: Vec<&str> = match options.folders.is_empty() {
        true => FOLDERS.to_vec(),
        false => options.folders.iter().map(String::as_str).collect(),
    };
    let drawn: io::Result<Vec<_>> =
        folders.iter().map(|folder| Ok((*folder, suite.draw(folder, options)?))).collect();
    let drawn = drawn?;
    if options.list {
        drawn.iter().flat_map(|(_, files)| files).for_each(|file| println!("{file}"));
        return Ok(true);
    }
    Session::begin(options, &cache, suite)?.judge(&drawn)
}

/// One run of this program.
struct Session<'a> {
    options: &'a Options,
    jdk: Jdk,
    sources: Sources,
    /// Outcomes on HotSpot: of this run and of others.
    hotspot_log: PathBuf,
    /// The `JAVA_HOME` of our VM, in the folder that vanishes at the end.
    home: PathBuf,
    _scratch: Scratch,
}

/// Counts of a folder.
#[derive(Default)]
struct Counts {
    /// Tests that HotSpot passes.
    hotspot: usize,
    passed: usize,
    /// Of the others, those that jtreg does not begin on our VM: they require what it does not have.
    unfit: usize,
}

impl Session<'_> {
    fn begin<'a>(options: &'a Options, cache: &Path, sources: Sources) -> io::Result<Session<'a>> {
        let jdk = Jdk::find()?;
        let scratch = Scratch::new("jdk-tests")?;
        let home = make_home(options, &jdk, &scratch)?;
        let name = format!("jdk-tests-jtreg-{}-{}.jsonl", jdk.version, sources.version);
        let hotspot_log = cache.join(name.replace('/', "_"));
        Ok(Session { options, jdk, sources, hotspot_log, home, _scratch: scratch })
    }

    /// Runs the files of all folders, and prints the counts of each. One run of jtreg serves all folders of a suite: it
    /// takes long to begin.
    fn judge(&self, drawn: &[(&str, Vec<String>)]) -> io::Result<bool> {
        let results = &self.options.results;
        fs::create_dir_all(results)?;
        let own_log = results.join(format!("{}.jsonl", self.options.gc));
        File::create(&own_log)?;
        let files: Vec<&String> = drawn.iter().flat_map(|(_, files)| files).collect();
        let known = outcomes(&self.hotspot_log);
        let missing: Vec<_> = files.iter().filter(|file| !known.contains_key(**file)).collect();
        eprintln!("{} files, {} to run on HotSpot", files.len(), missing.len());
        self.run(missing.into_iter().copied(), &self.jdk.home, &self.hotspot_log)?;
        let hotspot = outcomes(&self.hotspot_log);
        let passes = |file: &&String| {
            hotspot.get(*file).is_some_and(|tests| tests.iter().any(|test| test.passed))
        };
        let to_run: Vec<_> = files.into_iter().filter(passes).collect();
        eprintln!("{} files to run on {}", to_run.len(), self.options.gc);
        let cut = self.run(to_run.into_iter(), &self.home, &own_log)?;
        let own = outcomes(&own_log);
        let failures = results.join(format!("{}-failures.txt", self.options.gc));
        let (mut list, mut sum) = (File::create(&failures)?, Counts::default());
        for (folder, files) in drawn {
            let mut counts = Counts::default();
            for file in files {
                let of_file = own.get(file).map_or(&[][..], Vec::as_slice);
                let is_complete = !cut.iter().any(|suite| file.starts_with(suite));
                for expected in hotspot.get(file).into_iter().flatten().filter(|test| test.passed) {
                    let outcome = of_file.iter().find(|outcome| outcome.id == expected.id);
                    if let Some(problem) = counts.add(outcome, is_complete) {
                        writeln!(list, "{}  {problem}", expected.id)?;
                    }
                }
            }
            counts.print(folder);
            sum.hotspot += counts.hotspot;
            sum.passed += counts.passed;
            sum.unfit += counts.unfit;
        }
        sum.print("all");
        println!("failures: {}", failures.display());
        Ok(sum.passed + sum.unfit == sum.hotspot)
    }

    /// Runs files on the JDK at `home` and appends the outcomes to `log`. Returns the suites that took too much time.
    fn run<'f>(
        &self,
        files: impl Iterator<Item = &'f String> + Clone,
        home: &Path,
        log: &Path,
    ) -> io::Result<Vec<&'static str>> {
        let options = self.options;
        let jtreg = Jtreg {
            jdk: &self.jdk,
            jobs: options.jobs,
            timeout_factor: options.timeout_factor,
            heap: options.heap.clone(),
            limit: Duration::from_secs(60 * options.limit),
        };
        let mut cut = Vec::new();
        for suite in SUITES {
            let below = files.clone().filter_map(|file| file.strip_prefix(suite));
            let tests: Vec<&str> = below.filter_map(|rest| rest.strip_prefix('/')).collect();
            if tests.is_empty() {
                continue;
            }
            let mut file = OpenOptions::new().create(true).append(true).open(log)?;
            let mut lines = String::new();
            let suite_folder = self.sources.root.join(suite);
            let is_complete = jtreg.run(&suite_folder, &tests, home, &mut |outcome| {
                let line = serde_json::to_string(&outcome);
                lines += &(line.expect("an outcome is plain text and numbers") + "\n");
            })?;
            if !is_complete {
                cut.push(suite);
            }
            file.write_all(lines.as_bytes())?;
        }
        Ok(cut)
    }
}

impl Counts {
    /// Counts a test that HotSpot passes, with its outcome on our VM; what to say of it, if it did not pass.
    fn add<'o>(&mut self, outcome: Option<&'o Outcome>, is_complete: bool) -> Option<&'o str> {
        self.hotspot += 1;
        match outcome {
            Some(outcome) if outcome.passed => self.passed += 1,
            Some(outcome) => return Some(&outcome.error),
            None if is_complete => {
                self.unfit += 1;
                return Some("not begun: it requires what this VM does not have");
            }
            None => return Some("not reached in time"),
        }
        None
    }

    fn print(&self, name: &str) {
        let fit = self.hotspot - self.unfit;
        let share = 100.0 * self.passed as f64 / fit.max(1) as f64;
        let (passed, unfit) = (self.passed, self.unfit);
        println!(
            "{name:24} {passed:5} of {fit:5}  {share:5.1} %  (and {unfit} that require other things)"
        );
    }
}

/// A `JAVA_HOME` of our VM. The options are the home's and not the command line's: tests that want a VM without options
/// are run, too.
fn make_home(options: &Options, jdk: &Jdk, scratch: &Scratch) -> io::Result<PathBuf> {
    let home = scratch.path().join("home");
    let mut command = Command::new(Vm::find(options.vm.clone())?.path());
    command.arg("java-home").arg("--java-home").arg(&jdk.home).arg(&home).arg("--");
    command.args(&options.vm_option);
    // The default needs no option, which tests of the choice of collectors would see.
    if options.gc != "g1" {
        command.arg(format!("-XX:Collector={}", options.gc));
    }
    if options.local_memory != "100%" {
        command.arg(format!("-XX:LocalMemory={}", options.local_memory));
        command.arg(format!("-XX:MemoryServers={}", options.memory_servers));
    }
    let output = command.output()?;
    match output.status.success() {
        true => Ok(home),
        false => Err(io::Error::other(String::from_utf8_lossy(&output.stderr).into_owned())),
    }
}

/// The outcomes in a results file, by source file; none if there is no such file. The last of a test counts.
fn outcomes(log: &Path) -> HashMap<String, Vec<Outcome>> {
    let text = fs::read_to_string(log).unwrap_or_default();
    let mut by_file: HashMap<String, Vec<Outcome>> = HashMap::new();
    // The last line is cut short where an earlier run was killed.
    for outcome in text.lines().flat_map(serde_json::from_str::<Outcome>) {
        let of_file = by_file.entry(file_of(&outcome.id).into()).or_default();
        of_file.retain(|known| known.id != outcome.id);
        of_file.push(outcome);
    }
    by_file
}

/// The file of a test: its id without the name behind `#`.
fn file_of(id: &str) -> &str {
    id.split('#').next().unwrap_or(id)
}

/// The downloaded and unpacked tests.
struct Sources {
    /// `test/` of the source package.
    root: PathBuf,
    version: String,
}

impl Sources {
    /// `None` before the download.
    fn find(cache: &Path) -> io::Result<Option<Sources>> {
        let folder = cache.join(SOURCES);
        match fs::read_to_string(folder.join(MARKER)) {
            Ok(version) => Ok(Some(Sources { root: folder.join("test"), version })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Downloads the source package and unpacks its tests.
    fn download(cache: &Path) -> io::Result<Sources> {
        eprintln!("downloading the source package of openjdk-17 (64 MB)");
        let (target, folder) = (cache.join(SOURCES), cache.join("source"));
        let version = Apt::new(cache)?.download_source("openjdk-17", &folder)?;
        let upstream = version.split('-').next().unwrap_or(&version);
        let archive = folder.join(format!("openjdk-17_{upstream}.orig.tar.xz"));
        fs::create_dir_all(&target)?;
        let mut tar = Command::new("tar");
        tar.arg("-xJf").arg(&archive).arg("-C").arg(&target).arg("--strip-components=1");
        tar.arg("--wildcards").args(["*/test/lib", "*/test/jtreg-ext"]);
        tar.args(SUITES.map(|suite| format!("*/test/{suite}")));
        if !tar.status()?.success() {
            return Err(io::Error::other(format!("cannot unpack {}", archive.display())));
        }
        fs::write(target.join(MARKER), &version)?;
        Ok(Sources { root: target.join("test"), version })
    }

    /// The files of tests of a folder that the seed draws, in order.
    fn draw(&self, folder: &str, options: &Options) -> io::Result<Vec<String>> {
        let path = self.root.join(folder);
        if !path.exists() {
            return Err(io::Error::other(format!("there is no {}", path.display())));
        }
        let mut files = self.tests_below(&path)?;
        files.sort();
        let mut rng = Rng::new(options.seed);
        while options.number != 0 && files.len() > options.number {
            files.swap_remove(rng.below(files.len()));
        }
        files.sort();
        Ok(files)
    }

    /// The files of tests, below `test/`.
    fn tests_below(&self, path: &Path) -> io::Result<Vec<String>> {
        if path.is_dir() {
            let entries: io::Result<Vec<_>> = fs::read_dir(path)?.collect();
            let below = entries?.into_iter().map(|entry| self.tests_below(&entry.path()));
            return Ok(below.collect::<io::Result<Vec<_>>>()?.concat());
        }
        let kind = path.extension().and_then(|extension| extension.to_str());
        if !matches!(kind, Some("java" | "sh")) {
            return Ok(Vec::new());
        }
        // A few sources are deliberately not UTF-8.
        let text = String::from_utf8_lossy(&fs::read(path)?).into_owned();
        let below = path.strip_prefix(&self.root).unwrap_or(path).display().to_string();
        Ok(if is_test(&text) { vec![below] } else { Vec::new() })
    }
}

/// Whether a comment has the tag.
fn is_test(source: &str) -> bool {
    source.lines().any(|line| {
        let text = line.trim_start_matches([' ', '\t', '/', '*', '#']);
        text.strip_prefix("@test").is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    })
}

/// In the cache folder: the unpacked source package, and in it the file that says its version when it is complete.
const SOURCES: &str = "jdk-test-sources";
const MARKER: &str = "VERSION";

/// Below `test/`: each has its own settings for jtreg.
const SUITES: [&str; 2] = ["jdk", "hotspot/jtreg"];

const FOLDERS: [&str; 12] = [
    "jdk/java/lang",
    "jdk/java/util",
    "jdk/java/io",
    "jdk/java/nio",
    "jdk/java/net",
    "jdk/java/math",
    "jdk/java/text",
    "jdk/java/time",
    "jdk/java/security",
    "hotspot/jtreg/gc",
    "hotspot/jtreg/compiler",
    "hotspot/jtreg/runtime",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_has_the_tag_in_a_comment() {
        assert!(is_test("/*\n * @test\n */") && is_test("/* @test id=a") && is_test("# @test\n"));
        assert!(
            !is_test("/* no @test */") && !is_test("import org.testng.annotations.Test;\n@Test")
        );
        assert!(!is_test(" * @testng\n"));
    }

    #[test]
    fn a_file_may_have_several_tests() {
        assert_eq!(file_of("jdk/A.java#one"), "jdk/A.java");
        assert_eq!(file_of("jdk/A.java"), "jdk/A.java");
    }
}
