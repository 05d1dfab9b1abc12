//! The programs of the workspace, as they were built beside a test.

use std::path::PathBuf;

/// The program `name`. The runner of the tests is in `deps`, one folder below the programs.
pub fn program(name: &str) -> PathBuf {
    let runner = std::env::current_exe().expect("a test has an executable");
    runner.ancestors().nth(2).expect("it is two folders deep").join(name)
}
