//! The environment that `far-run` made, as child processes see it.

use std::env;
use std::path::Path;

use crate::settings::Settings;

/// Takes the preloaded library and its settings out of the environment: for good, unless children
/// are to have far memory too; then until it is dropped, so that memory servers start without.
pub struct Hidden {
    preloaded: Option<String>,
    variable: Option<String>,
}

impl Hidden {
    /// Called when the first range becomes far, which in a JVM is before its program runs.
    pub fn new(settings: &Settings) -> Hidden {
        let preloaded = env::var(PRELOAD).ok();
        let variable = env::var(Settings::VARIABLE).ok();
        let others = others(preloaded.as_deref().unwrap_or(""), &settings.library);
        // SAFETY: no other thread changes the environment while a JVM reserves its heap; other programs take the risk
        // that changing it always has beside threads.
        unsafe {
            match others.is_empty() {
                true => env::remove_var(PRELOAD),
                false => env::set_var(PRELOAD, others),
            }
            env::remove_var(Settings::VARIABLE);
        }
        match settings.children {
            true => Hidden { preloaded, variable },
            false => Hidden { preloaded: None, variable: None },
        }
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        let variables = [(PRELOAD, &self.preloaded), (Settings::VARIABLE, &self.variable)];
        for (name, value) in variables {
            if let Some(value) = value {
                // SAFETY: as above.
                unsafe { env::set_var(name, value) };
            }
        }
    }
}

/// The list of libraries without this one.
fn others(preloaded: &str, library: &Path) -> String {
    let others = preloaded.split([':', ' ']).filter(|one| !one.is_empty());
    others.filter(|one| Path::new(one) != library).collect::<Vec<_>>().join(":")
}

const PRELOAD: &str = "LD_PRELOAD";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_library_is_taken_out() {
        let library = Path::new("/x/libfarheap_preload.so");
        assert_eq!(others("/x/libfarheap_preload.so", library), "");
        assert_eq!(others("/x/libfarheap_preload.so:/y/a.so b.so", library), "/y/a.so:b.so");
        assert_eq!(others("", library), "");
    }
}
