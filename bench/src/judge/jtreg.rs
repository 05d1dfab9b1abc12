//! Which of the JDK's regression tests can be judged without its test harness, and how each runs.
//!
//! Selected is a file with a `@test` description and a `main` method that needs nothing but itself:
//! no `@library`, `@build`, `@compile`, no access to a package that its module does not export, no
//! other harness, no security policy file. Its first `@run main` line is the one that is run.
//!
//! Options that steer HotSpot's own compilers, collectors and logging are dropped, for HotSpot too:
//! a test whose point they are then does not belong to HotSpot's list, or passes for its Java part.

use std::path::{Path, PathBuf};

/// One selected test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// The path below `test/` without extension, such as `jdk/java/lang/String/Chars`.
    pub id: String,
    pub source: PathBuf,
    pub options: Vec<String>,
    pub main_class: String,
    pub args: Vec<String>,
}

impl Test {
    /// Reads the description in `source`, a file at `path` below the folder `root`. `None`: it is
    /// no test, or not one that is selected.
    pub fn parse(root: &Path, path: &Path, source: &str) -> Option<Test> {
        let id = path.strip_prefix(root).ok()?.with_extension("").display().to_string();
        let has_main = source.contains("void main(");
        let tags = tags(source);
        if !has_main || !tags.iter().any(|(tag, _)| tag == "test") {
            return None;
        }
        let mut run = None;
        for (tag, text) in &tags {
            match tag.as_str() {
                "ignore" | "library" | "build" | "compile" | "clean" => return None,
                "modules" if text.contains('/') => return None,
                "key" if text.split_whitespace().any(|k| UNFIT_KEYS.contains(&k)) => return None,
                "run" => {
                    if !text.starts_with("main") && !text.starts_with("driver") {
                        return None;
                    }
                    run = run.or(Some(text));
                }
                _ => {}
            }
        }
        let stem = path.file_stem()?.to_string_lossy().into_owned();
        let package = package(source);
        let folder = path.parent()?.display().to_string();
        let mut test = Test {
            id,
            source: path.to_path_buf(),
            options: Vec::new(),
            main_class: stem,
            args: Vec::new(),
        };
        if let Some(run) = run {
            test.read_run(&run.replace("${test.src}", &folder))?;
        }
        if !package.is_empty() && !test.main_class.contains('.') {
            test.main_class = format!("{package}.{}", test.main_class);
        }
        Some(test)
    }

    fn read_run(&mut self, run: &str) -> Option<()> {
        let mut words = run.split_whitespace();
        let mut modifiers = words.next()?.split('/').skip(1);
        if !modifiers.all(|m| m == "othervm" || m.starts_with("timeout=")) {
            return None;
        }
        let mut words = words.peekable();
        while let Some(option) = words.next_if(|word| word.starts_with('-')) {
            if matches!(option, "-cp" | "-classpath" | "--class-path" | "-jar") {
                return None;
            }
            if !is_dropped(option) {
                self.options.push(option.to_string());
            }
            if OPTIONS_WITH_VALUE.contains(&option) {
                self.options.push(words.next()?.to_string());
            }
        }
        if let Some(name) = words.next() {
            self.main_class = name.to_string();
        }
        self.args = words.map(str::to_string).collect();
        Some(())
    }
}

/// Whether an option steers only parts of HotSpot that our VM does not have.
fn is_dropped(option: &str) -> bool {
    if option.starts_with("-XX:") {
        return !KEPT_FLAGS.iter().any(|kept| option.contains(kept));
    }
    ["-Xcomp", "-Xint", "-Xmixed", "-Xbatch", "-Xlog", "-Xshare", "-Xrs", "-server", "-client"]
        .iter()
        .any(|prefix| option.starts_with(prefix))
}

/// The tags of all comments, each with its text on one line.
fn tags(source: &str) -> Vec<(String, String)> {
    let mut tags: Vec<(String, String)> = Vec::new();
    let mut rest = source;
    while let Some(start) = rest.find("/*") {
        let body = &rest[start + 2..];
        let end = body.find("*/").unwrap_or(body.len());
        let mut open = false;
        for line in body[..end].lines() {
            let line = line.trim_start_matches([' ', '\t', '*']).trim_end();
            if let Some(tag) = line.strip_prefix('@') {
                let (name, text) = tag.split_once(char::is_whitespace).unwrap_or((tag, ""));
                tags.push((name.to_string(), text.trim().to_string()));
                open = true;
            } else if open && let Some((_, text)) = tags.last_mut() {
                *text = format!("{text} {line}").trim_end().to_string();
            }
        }
        rest = &body[end..];
    }
    tags
}

fn package(source: &str) -> &str {
    source
        .lines()
        .find_map(|line| line.strip_prefix("package ")?.split(';').next())
        .unwrap_or("")
        .trim()
}

/// `@key` words of tests that need a screen, a person, or luck.
const UNFIT_KEYS: [&str; 4] = ["headful", "printer", "sound", "intermittent"];

/// Parts of `-XX:` options that mean the same to every VM of this JDK.
const KEPT_FLAGS: [&str; 3] =
    ["MaxDirectMemorySize", "BytecodeVerification", "ShowCodeDetailsInExceptionMessages"];

const OPTIONS_WITH_VALUE: [&str; 5] =
    ["--add-modules", "--add-exports", "--add-opens", "--limit-modules", "--add-reads"];

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<Test> {
        let source =
            format!("{text}\npublic class A {{ public static void main(String[] a) {{}} }}");
        Test::parse(Path::new("/t"), Path::new("/t/jdk/java/lang/A.java"), &source)
    }

    #[test]
    fn a_plain_test_runs_its_own_class() {
        let test = parse("/* @test\n * @bug 1\n */").unwrap();
        assert_eq!((test.id.as_str(), test.main_class.as_str()), ("jdk/java/lang/A", "A"));
    }

    #[test]
    fn options_class_and_arguments_are_told_apart() {
        let text = "/*\n * @test\n * @run main/othervm/timeout=9 -Xmx64m -XX:+UseSerialGC\n \
                    *      -Da=${test.src} A one two\n * @run main A three\n */";
        let test = parse(text).unwrap();
        assert_eq!(test.options, ["-Xmx64m", "-Da=/t/jdk/java/lang"]);
        assert_eq!(test.args, ["one", "two"]);
    }

    #[test]
    fn what_needs_a_harness_is_not_selected() {
        for tag in [
            "@library /lib",
            "@run testng A",
            "@run main/othervm/policy=p A",
            "@modules java.base/sun.misc",
            "@ignore",
            "@key intermittent",
            "@build B",
        ] {
            assert_eq!(parse(&format!("/* @test\n * {tag}\n */")), None, "{tag}");
        }
        assert!(parse("/* @test\n * @modules java.xml\n */").is_some());
        assert_eq!(parse("/* no test */"), None);
    }

    #[test]
    fn a_package_belongs_to_the_class_name() {
        assert_eq!(parse("/* @test */\npackage p.q;").unwrap().main_class, "p.q.A");
    }
}
