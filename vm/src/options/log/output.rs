//! Where log lines go: the standard streams, and files that are rotated.

use super::decorators::{COUNT, Decorators, Facts, formatted};
use super::selection::{Selection, sorted};
use base::units::parse_bytes;
use gc::object::log::LogLevel;
use parking_lot::Mutex;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// An output with its lines.
#[derive(Debug)]
pub struct Output {
    /// `stdout`, `stderr`, or the path of a file as it was given.
    name: String,
    /// In the order of the options: the last one that is about a line decides.
    selections: Vec<Selection>,
    decorators: Decorators,
    writer: Mutex<Writer>,
}

#[derive(Debug)]
struct Writer {
    target: Target,
    widths: [usize; COUNT],
}

#[derive(Debug)]
enum Target {
    Stdout,
    Stderr,
    File(Rotated),
}

impl Output {
    /// An output that prints nothing yet. The name is that of the option: empty, `stdout`, `stderr`, `file=PATH` or a
    /// path. The error is the reason, in lines as HotSpot logs them.
    pub fn open(name: &str, settings: &str) -> Result<Output, String> {
        let target = match name {
            STDOUT | STDERR if !settings.is_empty() => {
                return Err(format!("Options '{settings}' are for files only."));
            }
            STDOUT => Target::Stdout,
            STDERR => Target::Stderr,
            path => Target::File(Rotated::open(path, settings)?),
        };
        let writer = Mutex::new(Writer { target, widths: [0; COUNT] });
        let (selections, decorators) = (Vec::new(), Decorators::default());
        Ok(Output { name: name.into(), selections, decorators, writer })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn is_stdout(&self) -> bool {
        self.name == STDOUT
    }

    /// Adds selections; the decorators are the last ones that were given.
    pub fn select(&mut self, selections: Vec<Selection>, decorators: Decorators) {
        self.selections.extend(selections);
        self.decorators = decorators;
    }

    pub fn disable(&mut self) {
        self.selections.clear();
    }

    /// Whether lines with these tags (`gc,heap`) at this level are printed.
    pub fn wants(&self, tags: &str, level: LogLevel) -> bool {
        let own = sorted(tags);
        let found = self.selections.iter().rev().find(|selection| selection.matches(&own));
        found.is_some_and(|selection| selection.allows(level))
    }

    /// Prints a line. Any thread, also with the world stopped; blocks while another line is written. A log that cannot
    /// be written does not stop the program.
    pub fn write(&self, facts: &Facts<'_>, message: &str) {
        let mut writer = self.writer.lock();
        let Writer { target, widths } = &mut *writer;
        let mut line = String::with_capacity(64 + message.len());
        self.decorators.write(facts, widths, &mut line);
        line += message;
        line.push('\n');
        match target {
            Target::Stdout => base::print_part(format_args!("{line}")),
            Target::Stderr => base::say_part(format_args!("{line}")),
            Target::File(file) => _ = file.write(line.as_bytes()),
        }
    }
}

/// A file that becomes `PATH.0`, `PATH.1`, ... in turn when it is full.
#[derive(Debug)]
struct Rotated {
    path: PathBuf,
    /// `None` after it could not be opened again.
    file: Option<File>,
    bytes: u64,
    /// Size at which it is rotated; 0: never.
    bytes_max: u64,
    /// Number of old files; 0: it is never rotated.
    count: u32,
    /// The number that the next old file gets.
    next: u32,
}

impl Rotated {
    /// `%p` in the path is the process id, `%t` the time. A file that exists is rotated first.
    fn open(given: &str, settings: &str) -> Result<Rotated, String> {
        let (bytes_max, count) = read_settings(settings)?;
        let path = PathBuf::from(expand(given));
        let mut rotated = Rotated { path, file: None, bytes: 0, bytes_max, count, next: 0 };
        let kind = std::fs::metadata(&rotated.path).map(|found| found.file_type());
        match kind {
            // A pipe or a terminal.
            Ok(kind) if !kind.is_file() => rotated.count = 0,
            Ok(_) if count > 0 => {
                rotated.next = rotated.first_number();
                rotated.put_aside();
            }
            _ => (),
        }
        let is_fresh = rotated.count == 0;
        rotated.file = Some(open(&rotated.path, is_fresh).map_err(|error| {
            let (path, why) = (rotated.path.display(), super::os_reason(&error));
            format!("Error opening log file '{path}': {why}")
        })?);
        Ok(rotated)
    }

    fn write(&mut self, line: &[u8]) -> io::Result<()> {
        let file = self.file.as_mut().ok_or(io::ErrorKind::NotFound)?;
        file.write_all(line)?;
        self.bytes += line.len() as u64;
        if self.count > 0 && self.bytes_max > 0 && self.bytes >= self.bytes_max {
            self.file = None;
            self.put_aside();
            self.bytes = 0;
            self.file = Some(open(&self.path, true)?);
        }
        Ok(())
    }

    /// Gives the file the next number; the one that has it goes.
    fn put_aside(&mut self) {
        // One that cannot be moved is continued.
        let _ = std::fs::rename(&self.path, self.numbered(self.next));
        self.next = (self.next + 1) % self.count;
    }

    /// All numbers have the same width.
    fn numbered(&self, number: u32) -> PathBuf {
        let width = (self.count - 1).to_string().len();
        let mut name = self.path.clone().into_os_string();
        name.push(format!(".{number:0width$}"));
        name.into()
    }

    /// The first number that is free, else that of the oldest file.
    fn first_number(&self) -> u32 {
        let changed = |number: &u32| {
            let file = std::fs::metadata(self.numbered(*number));
            file.and_then(|file| file.modified()).ok()
        };
        (0..self.count).min_by_key(changed).unwrap_or(0)
    }
}

fn open(path: &Path, is_fresh: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true);
    let file = options.open(path)?;
    if is_fresh && file.metadata().is_ok_and(|file| file.is_file()) {
        file.set_len(0)?;
    }
    Ok(file)
}

/// The size at which a file is rotated, and the number of old files.
fn read_settings(settings: &str) -> Result<(u64, u32), String> {
    let (mut bytes, mut count) = (BYTES_DEFAULT, COUNT_DEFAULT);
    for setting in settings.split(',').filter(|setting| !setting.is_empty()) {
        let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
        match name {
            "filesize" => {
                let outside =
                    || format!("Invalid option: filesize must be in range [0, {}]", u64::MAX);
                bytes = parse_bytes(value).ok_or_else(outside)? as u64;
            }
            "filecount" => {
                let number = value.parse().ok().filter(|count| *count <= COUNT_MAX);
                count = number.ok_or(format!(
                    "Invalid option: filecount must be in range [0, {COUNT_MAX}]"
                ))?;
            }
            _ => return Err(format!("Invalid option '{name}' for log file output.")),
        }
    }
    Ok((bytes, count))
}

fn expand(path: &str) -> String {
    let time = || {
        // SAFETY: a null pointer is allowed.
        let now = unsafe { libc::time(std::ptr::null_mut()) };
        formatted(now, false, c"%Y-%m-%d_%H-%M-%S")
    };
    let path = path.replace("%p", &std::process::id().to_string());
    if path.contains("%t") { path.replace("%t", &time()) } else { path }
}

pub const STDOUT: &str = "stdout";
pub const STDERR: &str = "stderr";
const BYTES_DEFAULT: u64 = 20 << 20;
const COUNT_DEFAULT: u32 = 5;
const COUNT_MAX: u32 = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of this test, empty.
    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("log-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[test]
    fn a_full_file_is_put_aside_in_turn() {
        let folder = folder("rotation");
        let path = folder.join("gc.log");
        let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        let mut file = Rotated::open(path.to_str().unwrap(), "filecount=2,filesize=8").unwrap();
        for line in ["first.\n", "second\n", "third.\n", "fourth\n", "fifth.\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        assert_eq!(read("gc.log.0"), "first.\nsecond\n");
        assert_eq!(read("gc.log.1"), "third.\nfourth\n");
        assert_eq!(read("gc.log"), "fifth.\n");
        for line in ["sixth.\n", "last.\n"] {
            file.write(line.as_bytes()).unwrap();
        }
        assert_eq!(
            (read("gc.log.0"), read("gc.log")),
            ("fifth.\nsixth.\n".into(), "last.\n".into())
        );
        drop(file);
        // The next run puts aside what it finds, as the oldest one.
        let mut file = Rotated::open(path.to_str().unwrap(), "filecount=2").unwrap();
        file.write(b"anew\n").unwrap();
        assert_eq!((read("gc.log.1"), read("gc.log")), ("last.\n".into(), "anew\n".into()));
        // Without rotation, it is begun anew.
        let mut file = Rotated::open(path.to_str().unwrap(), "filecount=0,filesize=1").unwrap();
        file.write(b"only\n").unwrap();
        file.write(b"this\n").unwrap();
        assert_eq!(read("gc.log"), "only\nthis\n");
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn wrong_settings_are_refused() {
        let refused = |settings: &str| read_settings(settings).unwrap_err();
        assert_eq!(read_settings(""), Ok((20 << 20, 5)));
        assert_eq!(read_settings("filesize=2k,filecount=0"), Ok((2048, 0)));
        assert!(refused("filecount=2000").contains("[0, 1000]"));
        assert!(refused("filesize=foo").contains("filesize must be in range"));
        assert_eq!(refused("foo=1"), "Invalid option 'foo' for log file output.");
        let missing = Output::open("/no/folder/gc.log", "").unwrap_err();
        let reason = "Error opening log file '/no/folder/gc.log': No such file or directory";
        assert_eq!(missing, reason);
        assert!(Output::open("stdout", "filecount=2").is_err());
        assert!(Output::open("/dev/null", "").is_ok());
    }

    #[test]
    fn the_last_selection_decides() {
        let mut output = Output::open(STDOUT, "").unwrap();
        let mut select = |text: &str| {
            output.select(Selection::list(text).unwrap(), Decorators::default());
            let wants = |tags: &str, level| output.wants(tags, level);
            (wants("gc", LogLevel::Info), wants("gc,heap", LogLevel::Debug))
        };
        assert_eq!(select("all=warning"), (false, false));
        assert_eq!(select("gc"), (true, false));
        assert_eq!(select("gc*=debug"), (true, true));
        assert_eq!(select("gc=off"), (false, true));
        assert_eq!(select(""), (true, false));
    }
}
