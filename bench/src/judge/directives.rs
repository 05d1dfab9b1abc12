//! The header comments by which a conformance program states its needs.
//!
//! Each stands on a line of its own: `// args: a b`, `// vm: -Xmx64m`, `// stdin: text\n`,
//! `// exit: 3`, `// compare: stdout,exit,stderr`, `// timeout: 120` (seconds), `// zeal`.

use std::time::Duration;

/// The directives of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    pub args: Vec<String>,
    /// Options for the VM, passed to both.
    pub vm: Vec<String>,
    /// With `\n` already made a line end.
    pub stdin: Vec<u8>,
    /// The exit code that both VMs must give; 0 unless stated.
    pub exit: i32,
    pub compare_stderr: bool,
    /// Standard output is compared unless a `compare` line leaves it out.
    pub compare_stdout: bool,
    pub limit: Option<Duration>,
    /// Also run with the collectors' zeal on.
    pub zeal: bool,
    /// The class to run: the file's name after its package.
    pub main_class: String,
}

impl Directives {
    /// Reads them from a program's source; `stem` is the file's name without its extension. An
    /// unknown word after `compare` or a malformed number is an error.
    pub fn parse(stem: &str, source: &str) -> Result<Directives, String> {
        let mut found = Directives { compare_stdout: true, ..Directives::default() };
        let mut package = "";
        for line in source.lines() {
            if let Some(name) = line.strip_prefix("package ") {
                package = name.trim_end_matches(';');
            }
            let Some(text) = line.strip_prefix("// ") else { continue };
            if text == "zeal" {
                found.zeal = true;
            } else if let Some((key, value)) = text.split_once(": ") {
                found.set(key, value)?;
            }
        }
        found.main_class =
            if package.is_empty() { stem.to_string() } else { format!("{package}.{stem}") };
        Ok(found)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let words = || value.split_whitespace().map(str::to_string).collect();
        let number = || value.trim().parse::<i32>().map_err(|_| format!("{key}: {value}"));
        match key {
            "args" => self.args = words(),
            "vm" => self.vm = words(),
            "stdin" => self.stdin = value.replace("\\n", "\n").into_bytes(),
            "exit" => self.exit = number()?,
            "timeout" => self.limit = Some(Duration::from_secs(number()? as u64)),
            "compare" => {
                self.compare_stdout = false;
                for word in value.split(',').map(str::trim) {
                    match word {
                        "stdout" => self.compare_stdout = true,
                        "stderr" => self.compare_stderr = true,
                        "exit" => {}
                        other => return Err(format!("compare: {other}")),
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_kinds_are_read() {
        let source = "// args: a b\n// vm: -Xmx8m -ea\n// stdin: x\\ny\\n\n// exit: 3\n// zeal\n\
                      // compare: exit,stderr\n// timeout: 9\npackage p.q;\nclass A {}\n";
        let read = Directives::parse("A", source).unwrap();
        assert_eq!(read.args, ["a", "b"]);
        assert_eq!(read.vm, ["-Xmx8m", "-ea"]);
        assert_eq!(read.stdin, b"x\ny\n");
        assert_eq!((read.exit, read.zeal), (3, true));
        assert_eq!((read.compare_stdout, read.compare_stderr), (false, true));
        assert_eq!(read.limit, Some(Duration::from_secs(9)));
        assert_eq!(read.main_class, "p.q.A");
    }

    #[test]
    fn comments_that_are_not_directives_are_left_alone() {
        let read = Directives::parse("A", "// Note: this\n// zealous\nclass A {}").unwrap();
        assert_eq!((read.zeal, read.main_class.as_str()), (false, "A"));
        assert!(Directives::parse("A", "// compare: colour").is_err());
        assert!(Directives::parse("A", "// exit: many").is_err());
    }
}
