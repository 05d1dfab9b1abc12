//! The names and versions under which the VM presents itself.

use super::jit::JitOptions;
use std::path::Path;

/// Tools look for "Server VM" in it.
pub const VM_NAME: &str = "Farheap 64-Bit Server VM";
pub const VM_VENDOR: &str = "Farheap";

/// The version of the class library and of this VM.
pub fn vm_version(home: &Path) -> String {
    let library = released(home, "JAVA_RUNTIME_VERSION").or_else(|| library_version(home));
    format!("{}-farheap-{}", library.unwrap_or_default(), env!("CARGO_PKG_VERSION"))
}

/// The version of the class library alone: `17.0.15`.
pub fn library_version(home: &Path) -> Option<String> {
    released(home, "JAVA_VERSION")
}

/// A line of the JDK's file `release`.
fn released(home: &Path, key: &str) -> Option<String> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let line = release.lines().find_map(|line| line.strip_prefix(key))?;
    Some(line.strip_prefix('=')?.trim_matches('"').to_string())
}

/// How code is executed, as `java -version` shows it.
pub fn vm_info(options: &JitOptions) -> &'static str {
    match options.compiles() {
        false => "interpreted mode",
        true if options.compiles_everything => "compiled mode",
        true => "mixed mode",
    }
}
