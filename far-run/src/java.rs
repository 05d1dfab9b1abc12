//! How large the heap of this JVM is going to be, by its command line.

use std::{env, fs};

use base::units::parse_bytes;

/// A JVM's heap, by the command line and the environment.
#[derive(Clone, Copy, Debug, PartialEq, Default)]
pub struct JavaHeap {
    /// `-Xmx` in bytes; `None`: a share of the machine's memory.
    pub max_bytes: Option<usize>,
    /// The heap is asked for at addresses where references fit into 32 bits.
    pub compressed: bool,
}

impl JavaHeap {
    /// Of this process; `None`: it does not look like a JVM.
    pub fn of_process() -> Option<JavaHeap> {
        let command_line = fs::read("/proc/self/cmdline").ok()?;
        let text = String::from_utf8_lossy(&command_line);
        let arguments: Vec<&str> = text.split_terminator('\0').collect();
        let variable = |name| env::var(name).unwrap_or_default();
        let environment = ["JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS"].map(variable).join(" ");
        JavaHeap::told(&arguments, &environment, &variable("_JAVA_OPTIONS"))
    }

    /// By the arguments, program first, and the variables' texts that count before and after them.
    fn told(arguments: &[&str], before: &str, after: &str) -> Option<JavaHeap> {
        let (program, arguments) = arguments.split_first()?;
        let is_java = program.rsplit('/').next() == Some("java");
        let mut heap = JavaHeap { max_bytes: None, compressed: true };
        heap.read(before.split_whitespace());
        match is_java {
            true => heap.read(expand(options_of_java(arguments)).iter().map(String::as_str)),
            // The JDK's other tools hand on the text after -J.
            false => heap.read(arguments.iter().filter_map(|argument| argument.strip_prefix("-J"))),
        }
        heap.read(after.split_whitespace());
        if heap.max_bytes.is_some_and(|bytes| bytes >= COMPRESSED_BYTES_MAX) {
            heap.compressed = false;
        }
        (is_java || heap.max_bytes.is_some()).then_some(heap)
    }

    fn read<'a>(&mut self, options: impl Iterator<Item = &'a str>) {
        for option in options {
            let size = ["-Xmx", "-XX:MaxHeapSize=", "-mx"]
                .iter()
                .find_map(|prefix| option.strip_prefix(prefix));
            match option {
                "-XX:-UseCompressedOops" => self.compressed = false,
                "-XX:+UseCompressedOops" => self.compressed = true,
                _ => self.max_bytes = size.and_then(parse_bytes).or(self.max_bytes),
            }
        }
    }
}

/// The arguments before the main class: those after it are the program's.
fn options_of_java<'a>(arguments: &[&'a str]) -> Vec<&'a str> {
    let mut options = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let is_option = argument.starts_with('-') || argument.starts_with('@');
        if !is_option || ["-jar", "-m", "--module"].contains(argument) {
            break;
        }
        options.push(*argument);
        if WITH_VALUE.contains(argument) {
            rest.next();
        }
    }
    options
}

/// With the contents of `@FILE` arguments in their place; quotes in them are dropped.
fn expand(options: Vec<&str>) -> Vec<String> {
    let mut expanded = Vec::new();
    for option in options {
        match option.strip_prefix('@').map(fs::read_to_string) {
            Some(Ok(text)) => {
                let words = text.lines().filter(|line| !line.trim_start().starts_with('#'));
                let words = words.flat_map(str::split_whitespace);
                expanded.extend(words.map(|word| word.trim_matches(['"', '\'']).to_string()));
            }
            _ => expanded.push(option.to_string()),
        }
    }
    expanded
}

/// Options whose value is the next argument.
const WITH_VALUE: &[&str] = &[
    "-cp",
    "-classpath",
    "--class-path",
    "-p",
    "--module-path",
    "--upgrade-module-path",
    "--add-modules",
    "--add-exports",
    "--add-opens",
    "--add-reads",
    "--limit-modules",
    "--patch-module",
    "--enable-native-access",
    "--source",
    "-d",
    "--describe-module",
];

/// From this size on HotSpot's references have 64 bits.
const COMPRESSED_BYTES_MAX: usize = 32 << 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn told(line: &str, before: &str, after: &str) -> Option<JavaHeap> {
        JavaHeap::told(&line.split(' ').collect::<Vec<_>>(), before, after)
    }

    fn max(line: &str) -> Option<usize> {
        told(line, "", "").unwrap().max_bytes
    }

    #[test]
    fn the_last_size_counts_and_the_program_s_own_arguments_do_not() {
        assert_eq!(max("java -Xmx1g -Xmx256m Main -Xmx7m"), Some(256 << 20));
        assert_eq!(max("/usr/bin/java -cp a -XX:MaxHeapSize=1048576 Main"), Some(1 << 20));
        assert_eq!(max("java -cp -Xmx1g -jar a.jar -Xmx2g"), None);
        assert_eq!(max("java -Xmxhuge Main"), None);
        assert_eq!(told("java Main", "-Xmx1m", "").unwrap().max_bytes, Some(1 << 20));
        assert_eq!(told("java -Xmx2m Main", "-Xmx1m", "-Xmx3m").unwrap().max_bytes, Some(3 << 20));
        assert_eq!(max("javac -J-Xmx64m Main.java"), Some(64 << 20));
    }

    #[test]
    fn other_programs_are_no_java() {
        assert_eq!(told("sh -c true", "", ""), None);
        assert_eq!(JavaHeap::told(&[], "", ""), None);
    }

    #[test]
    fn long_references() {
        assert!(told("java Main", "", "").unwrap().compressed);
        assert!(!told("java -Xmx32g Main", "", "").unwrap().compressed);
        assert!(!told("java -XX:-UseCompressedOops Main", "", "").unwrap().compressed);
    }
}
