//! Finding the JDK 17 whose class library and native libraries the VM runs on.

use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// The home of a JDK 17: the given one, else the one in which this library lies (`lib/server/libjvm.so`), else that of
/// the launcher which loaded this library, else `JAVA_HOME`, else the usual places. The error is one line that says
/// what to do.
pub fn find(explicit: Option<&Path>) -> Result<PathBuf, String> {
    if let Some(home) = explicit {
        return check(home).map(|()| home.to_path_buf());
    }
    let own = rdma::own_library().and_then(|library| around(&library));
    if let Some(home) = own.filter(|home| check(home).is_ok()) {
        return Ok(home);
    }
    if let Some(home) = of_launcher() {
        return check(&home).map(|()| home);
    }
    if let Some(home) = std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()) {
        let home = PathBuf::from(home);
        return check(&home).map(|()| home).map_err(|why| format!("JAVA_HOME: {why}"));
    }
    let known = usual_places().into_iter().find(|home| check(home).is_ok());
    known.ok_or_else(|| {
        format!("no JDK {VERSION} found: install openjdk-17-jdk, or name one with --java-home")
    })
}

/// Whether a folder is the home of a JDK 17 that the VM can use.
pub fn check(home: &Path) -> Result<(), String> {
    let shown = home.display();
    let release = std::fs::read_to_string(home.join("release"))
        .map_err(|_| format!("{shown} is not a JDK: it has no file `release`"))?;
    let version = release
        .lines()
        .find_map(|line| line.strip_prefix("JAVA_VERSION="))
        .map(|version| version.trim_matches('"'))
        .unwrap_or("unknown");
    if version.split(['.', '+', '-']).next() != Some(VERSION) {
        return Err(format!("{shown} is JDK {version}; this VM runs on JDK {VERSION}"));
    }
    if !home.join("lib/modules").is_file() {
        return Err(format!("{shown} has no class library (lib/modules)"));
    }
    Ok(())
}

/// The home that has this library at the place of the JDK's own.
fn around(library: &Path) -> Option<PathBuf> {
    let home = library.ancestors().nth(3)?;
    (library.strip_prefix(home).ok()? == Path::new(LIBRARY)).then(|| home.to_path_buf())
}

/// Where a home has the library of the VM.
pub const LIBRARY: &str = "lib/server/libjvm.so";

/// Lets child processes find this home where they look for Java in the environment: if `JAVA_HOME` names the JDK that
/// is in use, it names `home` from now on. To be called before the process has a second thread; it does nothing later.
pub fn export(home: &Path, in_use: &Path) {
    let named = std::env::var_os("JAVA_HOME").and_then(|path| std::fs::canonicalize(path).ok());
    let threads = std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count);
    if threads == 1 && named.is_some() && named == std::fs::canonicalize(in_use).ok() {
        // SAFETY: no other thread reads or changes the environment: the calling one is the only one, as counted.
        unsafe { std::env::set_var("JAVA_HOME", home) };
    }
}

/// The home above `lib/libjli.so`, when the JDK's own launcher runs.
fn of_launcher() -> Option<PathBuf> {
    let mut found: Option<PathBuf> = None;
    // SAFETY: the callback gets the pointer that is passed here, a live `Option<PathBuf>`.
    unsafe {
        libc::dl_iterate_phdr(Some(note_libjli), std::ptr::from_mut(&mut found).cast());
    }
    found
}

unsafe extern "C" fn note_libjli(
    info: *mut libc::dl_phdr_info,
    _size: usize,
    found: *mut libc::c_void,
) -> libc::c_int {
    // SAFETY: `info` is valid for the call, and `found` is the pointer that `of_launcher` passed.
    let (name, found) = unsafe { ((*info).dlpi_name, &mut *found.cast::<Option<PathBuf>>()) };
    if name.is_null() {
        return 0;
    }
    // SAFETY: the loader's names are C strings.
    let name = unsafe { CStr::from_ptr(name) }.to_string_lossy();
    let path = Path::new(name.as_ref());
    if path.file_name().is_some_and(|file| file == "libjli.so") {
        let path = std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
        *found = path.parent().and_then(Path::parent).map(Path::to_path_buf);
        return 1;
    }
    0
}

/// Homes of installed JDKs, the likeliest first.
fn usual_places() -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = Vec::new();
    for parent in ["/usr/lib/jvm", "/usr/java", "/opt", "/opt/java"] {
        let Ok(entries) = std::fs::read_dir(parent) else {
            continue;
        };
        let mut homes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        homes.retain(|home| home.to_string_lossy().contains(VERSION));
        homes.sort();
        places.extend(homes);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path).map(|folder| folder.join("java"));
    let javas = on_path.filter_map(|java| std::fs::canonicalize(java).ok());
    places.extend(javas.filter_map(|java| Some(java.parent()?.parent()?.to_path_buf())));
    places
}

const VERSION: &str = "17";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_lies_in_a_home_at_one_place() {
        let home = |library: &str| around(Path::new(library));
        assert_eq!(home("/opt/far/lib/server/libjvm.so"), Some("/opt/far".into()));
        assert_eq!(home("/opt/far/target/release/libjvm.so"), None);
        assert_eq!(home("libjvm.so"), None);
    }

    #[test]
    fn refuses_what_is_no_jdk_17() {
        let folder = std::env::temp_dir().join(format!("jdk-test-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        assert!(check(&folder).unwrap_err().contains("no file `release`"));
        std::fs::write(folder.join("release"), "JAVA_VERSION=\"25.0.1\"\n").unwrap();
        assert!(check(&folder).unwrap_err().contains("is JDK 25.0.1"));
        std::fs::write(folder.join("release"), "JAVA_VERSION=\"17.0.9\"\n").unwrap();
        assert!(check(&folder).unwrap_err().contains("lib/modules"));
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
