//! `--patch-module` for modules of the boot loader: folders and archives in which it looks for a module's classes
//! before it looks in the module. (Other loaders, the packages that a patch adds, and resources are the class library's
//! business: it reads the same properties.)

use super::append::AppendedPath;
use rustc_hash::FxHashMap;
use std::path::Path;

/// The patches of all modules, of whatever loader. Any thread.
pub struct ModulePatches {
    by_module: FxHashMap<String, AppendedPath>,
}

impl ModulePatches {
    /// Opens the paths that the properties `jdk.module.patch.N` name: `module=entry:entry`. Entries that do not exist
    /// are omitted. The last patch of a module counts: the class library refuses a second one. Reads files.
    pub fn open(properties: &[(String, String)], java_home: &Path) -> ModulePatches {
        let patches = properties.iter().filter(|(key, _)| key.starts_with("jdk.module.patch."));
        let by_module = patches
            .filter_map(|(_, value)| value.split_once('='))
            .map(|(module, path)| (module.into(), AppendedPath::open(Some(path), java_home)));
        ModulePatches { by_module: by_module.collect() }
    }

    /// The class file with which a patch replaces or adds a class (`p/Name`) of a module. Reads files.
    pub fn class(&self, module: &str, name: &str) -> Option<Vec<u8>> {
        self.by_module.get(module)?.class(name).map(|(bytes, _)| bytes)
    }
}
