//! The options that a JAVA_HOME brings along: its file `conf/farheap.options`.
//!
//! Each line has options, separated by white space; quotes keep white space, and a line that begins with `#` is a
//! comment. The options have the form that `JNI_CreateJavaVM` takes. They come before all others, so that these
//! change them. The JDK's tools (`javac`, `jcmd`, ...) run without them: what is meant for programs would slow down
//! these.

use super::{BadOption, environment};
use std::io::ErrorKind;
use std::path::Path;

/// Where the file lies below a home.
pub const PLACE: &str = "conf/farheap.options";

/// The options of the file of `home`, for a VM with the options `given`. None where the home has no such file.
pub fn read(home: &Path, given: &[String]) -> Result<Vec<String>, BadOption> {
    if given.iter().any(|option| option.starts_with(OF_TOOL)) {
        return Ok(Vec::new());
    }
    let path = home.join(PLACE);
    match std::fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|why| BadOption(format!("{}: {why}", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
        Err(error) => Err(BadOption(format!("Could not read {}: {error}", path.display()))),
    }
}

/// What the launchers of the JDK's tools say of themselves, and `java` does not.
const OF_TOOL: &str = "-Dapplication.home=";

fn parse(text: &str) -> Result<Vec<String>, String> {
    let mut options = Vec::new();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        options.extend(environment::split(line).ok_or(format!("unmatched quote in: {line}"))?);
    }
    match options.iter().find(|option| is_refused(option)) {
        Some(option) => Err(format!("{option} cannot be in this file")),
        None => Ok(options),
    }
}

/// Options that must be known before the file is read.
fn is_refused(option: &str) -> bool {
    ["-XX:JavaHome=", "-XX:VMOptionsFile=", "-XX:Flags="]
        .iter()
        .any(|name| option.starts_with(name))
}

/// The text of a file with these options. The error names an option that cannot be in it.
pub fn text(options: &[String]) -> Result<String, String> {
    let mut text = HEAD.to_string();
    for option in options {
        if is_refused(option) || option.contains(['\n', '\r']) {
            return Err(format!("{option} cannot be in {PLACE}"));
        }
        text += &format!("{}\n", quoted(option));
    }
    Ok(text)
}

const HEAD: &str = "\
# Options of every VM that is started from this folder, before those of JAVA_TOOL_OPTIONS and of the command line.
# For example:
#   -XX:Collector=mako -XX:LocalMemory=25%
#   -XX:MemoryServer=memory-host:7411 -XX:TokenFile=/etc/farheap/token
# Name files by absolute paths.
";

fn quoted(option: &str) -> String {
    let is_plain = |c: char| !c.is_ascii_whitespace() && !"'\"#".contains(c);
    match !option.is_empty() && option.chars().all(is_plain) {
        true => option.into(),
        false => format!("'{}'", option.replace('\'', "'\"'\"'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let options: Vec<String> =
            ["-XX:Collector=mako", "-Da=b c", "-Dq='\"", "#x", "-XX:OnError=kill -9 %p"]
                .map(String::from)
                .into();
        assert_eq!(parse(&text(&options).unwrap()).unwrap(), options);
        assert_eq!(parse("  # none\n\n -Da=1 \t-Db='2 3'\n").unwrap(), ["-Da=1", "-Db=2 3"]);
        assert_eq!(parse("-Da='1\n").unwrap_err(), "unmatched quote in: -Da='1");
        assert_eq!(parse("-XX:JavaHome=/x").unwrap_err(), "-XX:JavaHome=/x cannot be in this file");
        assert!(text(&["-Da=1\n2".into()]).unwrap_err().contains("cannot be in"));
    }

    #[test]
    fn the_tools_of_the_jdk_run_without_it() {
        let home = std::env::temp_dir().join(format!("home-file-{}", std::process::id()));
        assert_eq!(read(&home, &[]), Ok(Vec::new()));
        std::fs::create_dir_all(home.join("conf")).unwrap();
        std::fs::write(home.join(PLACE), "-Da=1").unwrap();
        assert_eq!(read(&home, &["-Xint".into()]).unwrap(), ["-Da=1"]);
        assert_eq!(read(&home, &["-Dapplication.home=/x".into()]), Ok(Vec::new()));
        std::fs::remove_dir_all(&home).unwrap();
    }
}
