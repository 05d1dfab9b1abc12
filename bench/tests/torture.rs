//! The runner of `make torture` for a moment under every transport, and whether it can fail.

#[path = "support/programs.rs"]
mod programs;

use programs::program;
use std::process::{Command, Output};

/// Runs it; `None` where userfaultfd is not allowed.
fn torture(arguments: &[&str]) -> Option<(Output, String)> {
    let mut command = Command::new(program("judge"));
    let output = command.arg("torture").args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if text.contains("userfaultfd") {
        eprintln!("skipped: {text}");
        return None;
    }
    Some((output, text))
}

#[test]
fn no_write_is_lost_through_processes() {
    for transport in ["shm", "tcp"] {
        let Some((output, text)) = torture(&["--seconds", "2", "--transport", transport]) else {
            return;
        };
        print!("{text}");
        assert_eq!(output.status.code(), Some(0), "{transport}: {text}");
        assert!(text.contains("no write was lost") && text.contains(transport), "{text}");
    }
}

#[test]
fn no_write_is_lost_in_the_simulator() {
    let short = ["--seconds", "0.05", "--pages", "1280", "--budget", "20"];
    let seeds = [&short[..], &["--transport", "sim", "--seeds", "30"]].concat();
    let Some((output, text)) = torture(&seeds) else { return };
    assert_eq!(output.status.code(), Some(0), "{text}");
    assert!(text.contains("30 seeds from 1 on: no write was lost"), "{text}");
}

#[test]
fn injected_delays_change_nothing() {
    let slow = ["--seconds", "0.5", "--far-latency", "20us", "--far-bandwidth", "10gbit"];
    for transport in ["shm", "tcp", "sim"] {
        let arguments = [&slow[..], &["--transport", transport]].concat();
        let Some((output, text)) = torture(&arguments) else { return };
        assert_eq!(output.status.code(), Some(0), "{transport}: {text}");
    }
}

#[test]
fn a_network_that_forgets_is_found_out() {
    let forgetful = ["--transport", "sim", "--seconds", "2", "--forget", "--seeds", "3"];
    let Some((output, text)) = torture(&forgetful) else { return };
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("seed 1 failed") && text.contains("the counter of"), "{text}");
}

#[test]
fn impossible_plans_are_refused() {
    let impossible =
        [["--threads", "0"], ["--budget", "95"], ["--pages", "100"], ["--servers", "0"]];
    for wrong in impossible {
        let Some((output, text)) = torture(&wrong) else { return };
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {text}");
    }
}
