//! How a runner's end becomes its program's.

use std::io;
use std::process::ExitCode;

/// 0: all is right; 1: something is not; 2: it could not begin or go on, which is said on standard error.
pub fn code(name: &str, result: io::Result<bool>) -> ExitCode {
    match result {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            base::say(format_args!("{name}: {error}"));
            ExitCode::from(2)
        }
    }
}
