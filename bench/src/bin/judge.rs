//! `judge`: checks that the VM, its pager and its memory servers are correct.

use std::process::ExitCode;

use bench::harness::exit;
use bench::judge::{
    check_javac, conformance, fuzz_java, java_home, jdk_tests, survive, torture, verbs,
};
use clap::{Parser, Subcommand};

/// Compares the VM with the JDK's own, and tests its remote memory under stress.
///
/// Exit code 0: all passed; 1: something failed; 2: it could not start.
#[derive(Parser)]
#[command(name = "judge", version)]
struct Options {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Conformance(Box<conformance::Options>),
    JdkTests(Box<jdk_tests::Options>),
    CheckJavac(check_javac::Options),
    FuzzJava(Box<fuzz_java::Options>),
    JavaHome(java_home::Options),
    Survive(Box<survive::Options>),
    Torture(torture::Options),
    Verbs(verbs::Options),
}

fn main() -> ExitCode {
    match Options::parse().command {
        Command::Conformance(options) => {
            exit::code("judge conformance", conformance::run(&options))
        }
        Command::JdkTests(options) => exit::code("judge jdk-tests", jdk_tests::run(&options)),
        Command::CheckJavac(options) => exit::code("judge check-javac", check_javac::run(&options)),
        Command::FuzzJava(options) => exit::code("judge fuzz-java", fuzz_java::run(&options)),
        Command::JavaHome(options) => exit::code("judge java-home", java_home::run(&options)),
        Command::Survive(options) => exit::code("judge survive", survive::run(&options)),
        Command::Torture(options) => torture::run(&options),
        Command::Verbs(options) => exit::code("judge verbs", verbs::run(&options)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Options::command().debug_assert();
    }
}
