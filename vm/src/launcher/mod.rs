//! The command line of `vm`.
//!
//! If the first argument begins with `-` or `@`, `vm` is `vm run`. That reads the options that the JDK's `java`
//! launcher reads itself ([`arguments`]), turns those of far memory into `-XX` options, and hands the rest to
//! `JNI_CreateJavaVM` of `libjvm.so` as they are. The VM's own options are read by that library (`jvm::options`), so
//! that `java -XXaltjvm=...` takes the same ones.

mod argfiles;
mod arguments;
mod class_path;
mod help;
mod java_home;
mod jni;
mod run;
#[cfg(test)]
mod standard;

use arguments::{Command, Invocation};
use std::ffi::OsString;

/// Runs a command line, without the program's name, and returns the exit code.
pub fn main(arguments: Vec<OsString>) -> i32 {
    // Paths and arguments need not be UTF-8; Java sees the parts that it can decode.
    let words: Vec<String> =
        arguments.into_iter().map(|word| word.to_string_lossy().into_owned()).collect();
    match words.first().map(String::as_str) {
        Some("run") => run_java(&words[1..]),
        Some("java-home") => java_home::command(&words[1..]),
        Some("collectors") => {
            base::print_part(format_args!("{}", help::collectors()));
            0
        }
        Some("version") => {
            base::print(format_args!("vm {} (Farheap)", env!("CARGO_PKG_VERSION")));
            0
        }
        Some("help") => {
            base::print_part(format_args!("{}", help::COMMANDS));
            0
        }
        Some(option) if option.starts_with(['-', '@']) => run_java(&words),
        Some(other) => {
            base::say(format_args!("vm: unknown command {other}\n\n{}", help::COMMANDS));
            2
        }
        None => {
            base::say_part(format_args!("{}", help::COMMANDS));
            2
        }
    }
}

fn run_java(words: &[String]) -> i32 {
    let expanded = argfiles::with_environment(words);
    match expanded.and_then(|words| Invocation::parse(&words)) {
        Ok(Invocation { command: Command::Help(wanted), .. }) => {
            let text = wanted.as_ref().map_or_else(|| Some(help::run()), |name| help::group(name));
            let Some(text) = text else {
                base::say_part(format_args!("{}", help::run()));
                return 1;
            };
            base::print_part(format_args!("{text}"));
            0
        }
        Ok(invocation) => run::start(invocation),
        Err(message) => {
            base::say(format_args!("{message}"));
            1
        }
    }
}
