//! Homes of Java whose every launcher (`java`, `javac`, `jshell`, ...) runs on this VM.
//!
//! Such a home stands on an installed JDK. Its `bin/java` and the other launchers are copies of that JDK's, because a
//! launcher finds its home from where its own file lies; `lib/server/libjvm.so` is this VM. All else is the JDK's:
//! class library, native libraries, certificates, time zones. Links lead to it, or copies are made, for a home that is
//! moved to another machine or into a container. `lib/farheap.home` marks the folder as ours and says what it was made
//! of.
//!
//! There are two uses. `vm java-home FOLDER` makes a home that the user names. `vm run` makes one in the user's cache
//! folder and runs the program in it, so that programs which start a second VM by `java.home` get this VM again.

use super::arguments;
use jvm::options::{Options, home_file, jdk};
use std::collections::BTreeSet;
use std::hash::{Hash, Hasher};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// The command `vm java-home`; returns the exit code.
pub fn command(words: &[String]) -> i32 {
    let wish = match Wish::parse(words) {
        Ok(wish) => wish,
        Err(message) => {
            base::say(format_args!("Error: {message}\n\n{USAGE}"));
            return 2;
        }
    };
    match wish.make() {
        Ok(done) => {
            base::print(format_args!("{done}"));
            0
        }
        Err(message) => {
            base::say(format_args!("Error: {message}"));
            1
        }
    }
}

pub const USAGE: &str = "\
usage: vm java-home [--copy] [--java-home <JDK 17>] <folder> [-- <options of the VM>]
  makes a JAVA_HOME on this VM, or makes it anew
  --copy     copies the JDK and the VM instead of linking to them: the folder can be moved
  options    for each VM that is started from the folder; they are kept in conf/farheap.options there
";

/// The home in which `vm run` runs programs: `jdk` itself if it is a home on this VM, else one in the cache folder,
/// which is made if it is missing. May be called by several processes at the same time.
pub fn for_children(jdk: &Path) -> Result<PathBuf, String> {
    if is_ours(jdk) {
        return Ok(jdk.into());
    }
    let recipe = Recipe::new(jdk, false)?;
    let home = cache_folder()?.join("java-homes").join(recipe.name());
    if std::fs::read_to_string(home.join(MARK)).is_ok_and(|mark| mark == recipe.mark()) {
        return Ok(home);
    }
    let part = recipe.make_beside(&home, None)?;
    // Another process may have made it meanwhile: a rename does not replace a folder that has files.
    if std::fs::rename(&part, &home).is_err() {
        if std::fs::read_to_string(home.join(MARK)).is_ok_and(|mark| mark == recipe.mark()) {
            remove(&part)?;
        } else {
            replace(&home, &part)?;
        }
    }
    Ok(home)
}

/// What the command line asks for.
struct Wish {
    folder: PathBuf,
    copies: bool,
    jdk: Option<PathBuf>,
    /// In the form of `JNI_CreateJavaVM`. `None`: those of an earlier home stay.
    options: Option<Vec<String>>,
}

impl Wish {
    fn parse(words: &[String]) -> Result<Wish, String> {
        let (mut folder, mut copies, mut jdk) = (None, false, None);
        let end = words.iter().position(|word| word == "--");
        let (own, options) = words.split_at(end.unwrap_or(words.len()));
        let mut own = own.iter();
        while let Some(word) = own.next() {
            match word.as_str() {
                "--copy" => copies = true,
                "--java-home" => {
                    let value = own.next().ok_or("--java-home requires the folder of a JDK")?;
                    jdk = Some(value.into());
                }
                _ if word.starts_with("--java-home=") => {
                    jdk = word.strip_prefix("--java-home=").map(PathBuf::from);
                }
                _ if word.starts_with('-') => {
                    return Err(format!("unknown option {word}; options of the VM follow `--`"));
                }
                _ if folder.is_some() => return Err(format!("a second folder: {word}")),
                _ => folder = Some(PathBuf::from(word)),
            }
        }
        let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).ok_or("no folder")?;
        let options = match options.split_first() {
            Some((_, options)) => {
                let options = arguments::vm_options(options)?;
                check(&options)?;
                Some(options)
            }
            None => None,
        };
        Ok(Wish { folder, copies, jdk, options })
    }

    /// Makes the home. Returns a line that says what was made.
    fn make(&self) -> Result<String, String> {
        let named = jdk::find(self.jdk.as_deref())?;
        let recipe = Recipe::new(&under(&named), self.copies)?;
        let server = recipe.programs.join(SERVER);
        if !server.is_file() {
            return Err(format!("there is no {}", server.display()));
        }
        let home = std::path::absolute(&self.folder).map_err(at(&self.folder))?;
        // A link to a home stays, and the home behind it is made anew.
        let home = std::fs::canonicalize(&home).unwrap_or(home);
        let is_there = std::fs::symlink_metadata(&home).is_ok();
        let is_empty = || std::fs::read_dir(&home).is_ok_and(|mut files| files.next().is_none());
        if is_there && !is_ours(&home) && !is_empty() {
            let place = home.display();
            return Err(format!("{place} exists and was not made by `vm java-home`"));
        }
        let options = match &self.options {
            Some(options) => home_file::text(options)?,
            None => match std::fs::read_to_string(home.join(home_file::PLACE)) {
                Ok(text) => text,
                Err(error) if error.kind() == ErrorKind::NotFound => home_file::text(&[])?,
                Err(error) => return Err(at(&home.join(home_file::PLACE))(error)),
            },
        };
        let part = recipe.make_beside(&home, Some(&options))?;
        match is_there {
            true => replace(&home, &part)?,
            false => std::fs::rename(&part, &home).map_err(at(&home))?,
        }
        let (place, jdk) = (home.display(), recipe.jdk.display());
        let made = if is_there { "made anew" } else { "made" };
        let how = if self.copies { "a copy of" } else { "links to" };
        Ok(format!("{made}: JAVA_HOME={place}, {how} {jdk}; options: {}", home_file::PLACE))
    }
}

/// Refuses options that the VM would refuse, and prints its warnings. Not of options whose files are those of the
/// machine on which the VM will run.
fn check(options: &[String]) -> Result<(), String> {
    let is_later =
        |option: &&String| ["-Xlog", "-XX:TokenFile="].iter().any(|name| option.starts_with(name));
    let now: Vec<&String> = options.iter().filter(|option| !is_later(option)).collect();
    let read = Options::parse(&now, false).map_err(|bad| bad.0)?;
    read.warnings.iter().for_each(|warning| base::say(format_args!("Warning: {warning}")));
    Ok(())
}

/// What a home is made of.
struct Recipe {
    jdk: PathBuf,
    /// The text of the JDK's file `release`: another version means another home.
    release: String,
    /// The folder with `libjvm.so` and `memory-server`: that of this executable.
    programs: PathBuf,
    copies: bool,
}

impl Recipe {
    fn new(jdk: &Path, copies: bool) -> Result<Recipe, String> {
        let jdk = std::path::absolute(jdk).map_err(at(jdk))?;
        let release = std::fs::read_to_string(jdk.join("release")).map_err(at(&jdk))?;
        let own = std::env::current_exe().map_err(|error| format!("own executable: {error}"))?;
        let programs = own.parent().unwrap_or(Path::new("/")).to_path_buf();
        Ok(Recipe { jdk, release, programs, copies })
    }

    /// The text of the file that marks a home as ours.
    fn mark(&self) -> String {
        let (jdk, programs) = (self.jdk.display(), self.programs.display());
        let copies = self.copies;
        let version = env!("CARGO_PKG_VERSION");
        format!(
            "# Made by `vm java-home`, which makes this folder anew and keeps {}.\n\
             farheap={version}\n{JDK}{jdk}\nprograms={programs}\ncopies={copies}\n{}",
            home_file::PLACE,
            self.release
        )
    }

    /// A name in the cache folder.
    fn name(&self) -> String {
        let mut hasher = rustc_hash::FxHasher::default();
        self.mark().hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Makes a whole home in a new folder beside `home`; nothing is left of one that fails.
    fn make_beside(&self, home: &Path, options: Option<&str>) -> Result<PathBuf, String> {
        let part = beside(home, "part");
        let filled = self.fill(&part, options);
        if filled.is_err() {
            let _ = std::fs::remove_dir_all(&part);
        }
        filled.map(|()| part)
    }

    fn fill(&self, home: &Path, options: Option<&str>) -> Result<(), String> {
        if std::fs::symlink_metadata(home).is_ok() {
            remove(home)?;
        }
        for folder in ["bin", "conf", "lib/server"] {
            let folder = home.join(folder);
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        self.place_all(home, "", &["bin", "conf", "lib"])?;
        self.place_all(home, "conf", &["farheap.options"])?;
        self.place_all(home, "lib", &["server", "jvm.cfg", "farheap.home"])?;
        self.place_all(
            home,
            "lib/server",
            &["libjvm.so", SERVER, "classes.jsa", "classes_nocoops.jsa"],
        )?;
        for name in names(&self.jdk.join("bin"))? {
            copy(&self.jdk.join("bin").join(&name), &home.join("bin").join(&name), 0)?;
        }
        self.place(&self.programs.join("libjvm.so"), &home.join(jdk::LIBRARY))?;
        self.place(&self.programs.join(SERVER), &home.join("lib/server").join(SERVER))?;
        let write = |name: &str, text: &str| {
            std::fs::write(home.join(name), text).map_err(at(&home.join(name)))
        };
        // One VM, whichever the JDK's launcher would take.
        write("lib/jvm.cfg", "-server KNOWN\n-client IGNORE\n")?;
        if let Some(options) = options {
            write(home_file::PLACE, options)?;
        }
        write(MARK, &self.mark())
    }

    /// Places what the JDK has in a folder, but for some names.
    fn place_all(&self, home: &Path, folder: &str, except: &[&str]) -> Result<(), String> {
        let from = self.jdk.join(folder);
        for name in names(&from)? {
            if !except.contains(&name.as_str()) {
                self.place(&from.join(&name), &home.join(folder).join(&name))?;
            }
        }
        Ok(())
    }

    fn place(&self, from: &Path, to: &Path) -> Result<(), String> {
        match self.copies {
            true => copy(from, to, 0),
            false => std::os::unix::fs::symlink(from, to).map_err(at(to)),
        }
    }
}

/// The JDK under a home of ours, if it is still there; else the folder itself.
fn under(home: &Path) -> PathBuf {
    let mark = std::fs::read_to_string(home.join(MARK)).unwrap_or_default();
    let jdk = mark.lines().find_map(|line| line.strip_prefix(JDK)).map(PathBuf::from);
    jdk.filter(|jdk| jdk::check(jdk).is_ok()).unwrap_or(home.into())
}

fn is_ours(folder: &Path) -> bool {
    folder.join(MARK).is_file()
}

/// Puts `part` in the place of `home`. For a moment there is no home; running VMs keep the files that they have open.
fn replace(home: &Path, part: &Path) -> Result<(), String> {
    let old = beside(home, "old");
    std::fs::rename(home, &old).map_err(at(home))?;
    if let Err(error) = std::fs::rename(part, home) {
        // The old one is better than none.
        let _ = std::fs::rename(&old, home);
        let _ = std::fs::remove_dir_all(part);
        return Err(at(home)(error));
    }
    remove(&old)
}

/// A path of this process's own in the same folder.
fn beside(home: &Path, kind: &str) -> PathBuf {
    let name = home.file_name().unwrap_or_default().to_string_lossy().into_owned();
    home.with_file_name(format!(".{name}.{}.{kind}", std::process::id()))
}

fn remove(folder: &Path) -> Result<(), String> {
    std::fs::remove_dir_all(folder).map_err(at(folder))
}

/// Copies a file or a folder, and what links lead to. Links that lead nowhere are omitted: JDKs have some to packages
/// that need not be installed.
fn copy(from: &Path, to: &Path, depth: usize) -> Result<(), String> {
    let metadata = match std::fs::metadata(from) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(at(from)(error)),
    };
    if !metadata.is_dir() {
        return std::fs::copy(from, to).map(|_| ()).map_err(at(to));
    }
    if depth == DEPTH_MAX {
        return Err(format!("{}: links lead in a circle", from.display()));
    }
    std::fs::create_dir_all(to).map_err(at(to))?;
    for name in names(from)? {
        copy(&from.join(&name), &to.join(&name), depth + 1)?;
    }
    Ok(())
}

/// The names in a folder, sorted; none if there is no such folder.
fn names(folder: &Path) -> Result<BTreeSet<String>, String> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
        Err(error) => return Err(at(folder)(error)),
    };
    let name = |entry: io::Result<std::fs::DirEntry>| {
        entry.map(|entry| entry.file_name().to_string_lossy().into_owned())
    };
    entries.map(name).collect::<io::Result<_>>().map_err(at(folder))
}

fn cache_folder() -> Result<PathBuf, String> {
    let set = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache")));
    let folder = cache.ok_or("neither XDG_CACHE_HOME nor HOME is set")?.join("farheap");
    std::fs::create_dir_all(folder.join("java-homes")).map_err(at(&folder))?;
    Ok(folder)
}

/// An error of a call on this path.
fn at(path: &Path) -> impl Fn(io::Error) -> String {
    move |error| format!("{}: {error}", path.display())
}

/// What a home of ours has, and no JDK.
const MARK: &str = "lib/farheap.home";
const JDK: &str = "jdk=";
const SERVER: &str = "memory-server";

/// Folders in each other when a JDK is copied.
const DEPTH_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder that looks like a JDK, and is removed at the end.
    struct Sample(PathBuf);

    impl Sample {
        fn new(name: &str) -> Sample {
            let folder =
                std::env::temp_dir().join(format!("java-home-{name}-{}", std::process::id()));
            let sample = Sample(folder);
            for file in [
                "bin/java",
                "lib/modules",
                "lib/jvm.cfg",
                "lib/server/libjvm.so",
                "conf/net.properties",
            ] {
                sample.write(&format!("jdk/{file}"), "the JDK's");
            }
            sample.write("jdk/release", "JAVA_VERSION=\"17.0.1\"\n");
            for file in ["libjvm.so", SERVER] {
                sample.write(&format!("programs/{file}"), "ours");
            }
            std::os::unix::fs::symlink("nowhere", sample.0.join("jdk/docs")).unwrap();
            sample
        }

        fn write(&self, name: &str, text: &str) {
            let path = self.0.join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }

        fn recipe(&self, copies: bool) -> Recipe {
            let mut recipe = Recipe::new(&self.0.join("jdk"), copies).unwrap();
            recipe.programs = self.0.join("programs");
            recipe
        }
    }

    impl Drop for Sample {
        fn drop(&mut self) {
            std::fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn a_home_is_the_jdk_with_this_vm() {
        let sample = Sample::new("whole");
        for copies in [false, true] {
            let home = sample.0.join(format!("home-{copies}"));
            let part = sample.recipe(copies).make_beside(&home, Some("-Da=1\n")).unwrap();
            std::fs::rename(part, &home).unwrap();
            assert!(is_ours(&home) && jdk::check(&home).is_ok());
            assert_eq!(under(&home), sample.0.join("jdk"));
            let read = |name: &str| std::fs::read_to_string(home.join(name)).unwrap();
            assert_eq!(read("bin/java") + &read("conf/net.properties"), "the JDK'sthe JDK's");
            assert_eq!(read(jdk::LIBRARY) + &read("lib/server/memory-server"), "oursours");
            assert!(read("lib/jvm.cfg").starts_with("-server KNOWN"));
            assert_eq!(read(home_file::PLACE), "-Da=1\n");
            let is_link = |name: &str| home.join(name).is_symlink();
            assert_eq!((is_link("lib/modules"), is_link("bin/java")), (!copies, false));
            // A link of the JDK that leads nowhere.
            assert_eq!(is_link("docs"), !copies);
        }
    }

    #[test]
    fn another_version_of_the_jdk_is_another_home() {
        let sample = Sample::new("name");
        let first = sample.recipe(false).name();
        assert_eq!(sample.recipe(false).name(), first);
        sample.write("jdk/release", "JAVA_VERSION=\"17.0.2\"\n");
        assert_ne!(sample.recipe(false).name(), first);
    }

    #[test]
    fn words_are_read() {
        let parse = |words: &[&str]| {
            Wish::parse(&words.iter().map(|word| word.to_string()).collect::<Vec<_>>())
        };
        let wish = parse(&["--copy", "there", "--", "--gc", "mako", "-Xmx1g"]).ok().unwrap();
        assert!(wish.copies && wish.folder == Path::new("there"));
        assert_eq!(wish.options.unwrap(), ["-XX:Collector=mako", "-Xmx1g"]);
        let error = |words: &[&str]| parse(words).err().unwrap();
        assert_eq!(error(&[]), "no folder");
        assert_eq!(error(&["a", "b"]), "a second folder: b");
        assert!(error(&["a", "--gc", "mako"]).contains("unknown option --gc"));
        assert!(error(&["a", "--", "--gc", "none"]).contains("none"));
        assert!(error(&["a", "--", "-cp", "x"]).contains("-cp"));
        assert!(error(&["a", "--", "Main"]).contains("Main"));
        let log = std::env::temp_dir().join(format!("java-home-log-{}", std::process::id()));
        let log_option = format!("-Xlog:gc:file={}", log.display());
        let later = ["a", "--", "--token-file", "/no/token", &log_option];
        assert!(parse(&later).is_ok() && !log.exists(), "files are those of another machine");
    }
}
