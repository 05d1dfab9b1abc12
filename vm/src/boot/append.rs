//! `-Xbootclasspath/a`, and what agents append: folders and archives in which the boot loader looks for classes of
//! packages that no named module has. (Resources are the class library's business: it reads the same path from a
//! property.)

use classfile::symbol::{Kept, Symbol};
use libc::{c_char, c_int, c_void};
use parking_lot::{Mutex, RwLock};
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The entries, in order. Any thread.
pub struct AppendedPath {
    java_home: PathBuf,
    entries: RwLock<Vec<Arc<Entry>>>,
    /// The entry that the first class of a package came from, by the package's internal name.
    packages: Mutex<FxHashMap<Kept, Arc<Entry>>>,
}

struct Entry {
    /// As given.
    path: String,
    kind: Kind,
}

enum Kind {
    Folder(PathBuf),
    Archive(Archive),
}

impl AppendedPath {
    /// Opens the entries of `path`, a list with colons; entries that do not exist are omitted, as on all
    /// class paths.
    pub fn open(path: Option<&str>, java_home: &Path) -> AppendedPath {
        let java_home = java_home.to_path_buf();
        let all =
            AppendedPath { java_home, entries: RwLock::default(), packages: Mutex::default() };
        path.unwrap_or("")
            .split(':')
            .filter(|path| !path.is_empty())
            .for_each(|path| all.append(path));
        all
    }

    /// Appends a folder or an archive, if it is there. Reads files.
    pub fn append(&self, path: &str) {
        let kind = if Path::new(path).is_dir() {
            Some(Kind::Folder(PathBuf::from(path)))
        } else {
            self.archive(path).map(Kind::Archive)
        };
        let entry = kind.map(|kind| Arc::new(Entry { path: path.to_string(), kind }));
        self.entries.write().extend(entry);
    }

    /// A file of an archive, which need not be an entry. Reads files.
    pub fn read_from(&self, archive: &str, name: &str) -> Option<Vec<u8>> {
        self.archive(archive)?.read(name)
    }

    fn archive(&self, path: &str) -> Option<Archive> {
        let is_file = Path::new(path).is_file();
        is_file.then(|| Archive::open(ZipLibrary::open(&self.java_home)?, path)).flatten()
    }

    /// The class file of a class (`p/Name`), and the path of the entry that has it.
    pub fn class(&self, name: &str) -> Option<(Vec<u8>, String)> {
        let file = format!("{name}.class");
        let entries = self.entries.read().clone();
        for entry in entries {
            let bytes = match &entry.kind {
                Kind::Folder(folder) => std::fs::read(folder.join(&file)).ok(),
                Kind::Archive(archive) => archive.read(&file),
            };
            if let Some(bytes) = bytes {
                let package = classfile::descriptor::package_of(name.as_bytes());
                let path = entry.path.clone();
                self.packages.lock().entry(Kept::new(Symbol::intern(package))).or_insert(entry);
                return Some((bytes, path));
            }
        }
        None
    }

    /// The path entry that the classes of a package came from, if it is one of these.
    pub fn package_entry(&self, package: &[u8]) -> Option<String> {
        let packages = self.packages.lock();
        packages.get(&Symbol::intern(package)).map(|entry| entry.path.clone())
    }
}

/// An archive that the JDK's libzip has open. Never closed: the VM reads it as long as it lives.
struct Archive {
    library: ZipLibrary,
    /// One at a time: the library's entries are not for several threads.
    file: Mutex<usize>,
}

impl Archive {
    fn open(library: ZipLibrary, path: &str) -> Option<Archive> {
        let name = CString::new(path).ok()?;
        let mut message = std::ptr::null_mut();
        // SAFETY: a C string, and room for a message.
        let file = unsafe { (library.open)(name.as_ptr(), &mut message) };
        (!file.is_null()).then(|| Archive { library, file: Mutex::new(file as usize) })
    }

    fn read(&self, name: &str) -> Option<Vec<u8>> {
        let name = CString::new(name).ok()?;
        let file = self.file.lock();
        let file = *file as *mut c_void;
        let (mut bytes, mut name_bytes) = (0, 0);
        // SAFETY: the archive is open and used by this thread alone; the buffers are as large as the library
        // says, with the name's end.
        unsafe {
            let entry = (self.library.find)(file, name.as_ptr(), &mut bytes, &mut name_bytes);
            if entry.is_null() {
                return None;
            }
            let mut content = vec![0u8; usize::try_from(bytes).ok()?];
            let mut found = vec![0 as c_char; usize::try_from(name_bytes).ok()? + 1];
            let read = &self.library.read;
            let is_read = read(file, entry, content.as_mut_ptr(), found.as_mut_ptr()) != 0;
            is_read.then_some(content)
        }
    }
}

/// The functions that libzip exports for virtual machines.
#[derive(Clone, Copy)]
struct ZipLibrary {
    open: Open,
    find: Find,
    read: Read,
}

type Open = unsafe extern "C" fn(*const c_char, *mut *mut c_char) -> *mut c_void;
type Find = unsafe extern "C" fn(*mut c_void, *const c_char, *mut c_int, *mut c_int) -> *mut c_void;
type Read = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut u8, *mut c_char) -> u8;

impl ZipLibrary {
    fn open(java_home: &Path) -> Option<ZipLibrary> {
        use std::os::unix::ffi::OsStrExt;
        let path = java_home.join("lib/libzip.so");
        let path = CString::new(path.as_os_str().as_bytes()).ok()?;
        // SAFETY: runs the initializers of the JDK's own library, which stays open.
        let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_LAZY) };
        if library.is_null() {
            return None;
        }
        let symbol = |name: &CStr| {
            // SAFETY: an open library and a C string.
            let found = unsafe { libc::dlsym(library, name.as_ptr()) };
            (!found.is_null()).then_some(found)
        };
        // SAFETY: these are the types of the functions in JDK 17.
        unsafe {
            Some(ZipLibrary {
                open: std::mem::transmute::<*mut c_void, Open>(symbol(c"ZIP_Open")?),
                find: std::mem::transmute::<*mut c_void, Find>(symbol(c"ZIP_FindEntry")?),
                read: std::mem::transmute::<*mut c_void, Read>(symbol(c"ZIP_ReadEntry")?),
            })
        }
    }
}
