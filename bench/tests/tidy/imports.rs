//! Which modules of its crate a source file imports from.

use std::collections::{BTreeMap, BTreeSet};
use syn::visit::{self, Visit};
use syn::{Attribute, File, Item, ItemMod, ItemUse, Macro, UseTree};

/// The sources of one crate.
pub struct Sources {
    /// By module, as segments of its path.
    files: BTreeMap<Vec<String>, File>,
    /// By module, the folder of its file, empty for the root.
    folders: BTreeMap<Vec<String>, String>,
    /// Items that the root exports under a name of their own: the module of each.
    exported: BTreeMap<String, Vec<String>>,
}

/// From one module to another.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Import {
    pub from: Vec<String>,
    pub to: Vec<String>,
}

impl Sources {
    /// Of files with their paths below `src`. Tests are left out, and programs, which are crates of their own.
    pub fn parse<'a>(files: impl Iterator<Item = (&'a str, &'a str)>) -> Sources {
        let is_program = |path: &str| path == "main.rs" || path.starts_with("bin/");
        let (mut parsed, mut folders) = (BTreeMap::new(), BTreeMap::new());
        for (path, text) in files.filter(|(path, _)| !is_program(path)) {
            let file = syn::parse_file(text).unwrap_or_else(|error| panic!("{path}: {error}"));
            parsed.insert(module_of(path), file);
            let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
            folders.insert(module_of(path), folder.to_string());
        }
        let for_tests: Vec<_> =
            parsed.iter().flat_map(|(m, file)| modules_for_tests(m, file)).collect();
        parsed.retain(|module, _| !for_tests.iter().any(|tests| module.starts_with(tests)));
        let mut sources = Sources { files: parsed, folders, exported: BTreeMap::new() };
        let root = sources.files.get(&Vec::new());
        let uses = root.into_iter().flat_map(|root| &root.items).filter_map(|item| match item {
            Item::Use(item) => Some(item),
            _ => None,
        });
        let mut exported = BTreeMap::new();
        for path in uses.flat_map(|item| paths_of(&item.tree)) {
            if let (Some(module), Some(name)) = (sources.module(&path), path.last()) {
                exported.insert(name.clone(), module);
            }
        }
        sources.exported = exported;
        sources
    }

    /// All modules but the root.
    pub fn modules(&self) -> impl Iterator<Item = &Vec<String>> {
        self.files.keys().filter(|module| !module.is_empty())
    }

    /// The folder of a module's file, empty for the root.
    pub fn folder(&self, module: &[String]) -> &str {
        &self.folders[module]
    }

    /// All imports between different modules, the root's own left out.
    pub fn imports(&self) -> BTreeSet<Import> {
        let mut imports = BTreeSet::new();
        for (module, file) in self.files.iter().filter(|(module, _)| !module.is_empty()) {
            let mut found = Found { module: module.clone(), paths: Vec::new() };
            found.visit_file(file);
            let targets = found.paths.iter().filter_map(|path| self.module(path));
            for to in targets.filter(|to| to != module && !to.is_empty()) {
                imports.insert(Import { from: module.clone(), to });
            }
        }
        imports
    }

    /// The module that a path from the root leads into, by way of the root's exports. `None`: not of this crate.
    fn module(&self, path: &[String]) -> Option<Vec<String>> {
        let longest = (1..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]));
        match longest {
            Some(n) => Some(path[..n].to_vec()),
            None => self.exported.get(path.first()?).cloned(),
        }
    }
}

/// Modules in files of their own that a file declares for tests.
fn modules_for_tests(module: &[String], file: &File) -> Vec<Vec<String>> {
    let declared = file.items.iter().filter_map(|item| match item {
        Item::Mod(item) if item.content.is_none() && is_for_tests(&item.attrs) => Some(item),
        _ => None,
    });
    declared.map(|item| [module, &[item.ident.to_string()]].concat()).collect()
}

fn module_of(path: &str) -> Vec<String> {
    let path = path.strip_suffix(".rs").unwrap_or(path);
    let mut segments: Vec<_> = path.split('/').map(str::to_string).collect();
    segments.pop_if(|last| last == "mod" || last == "lib");
    segments
}

/// Collects paths from the root that a file names.
struct Found {
    /// Where the visit is.
    module: Vec<String>,
    paths: Vec<Vec<String>>,
}

impl Found {
    fn add(&mut self, path: Vec<String>) {
        let mut from = self.module.clone();
        let mut path = path.into_iter().peekable();
        match path.peek().map(String::as_str) {
            Some("crate") => {
                path.next();
                from.clear();
            }
            Some("super" | "self") => {
                while let Some(step) = path.next_if(|step| step == "super" || step == "self") {
                    if step == "super" {
                        from.pop();
                    }
                }
            }
            _ => return,
        }
        from.extend(path);
        self.paths.push(from);
    }
}

impl<'a> Visit<'a> for Found {
    fn visit_item_mod(&mut self, item: &'a ItemMod) {
        if is_for_tests(&item.attrs) {
            return;
        }
        self.module.push(item.ident.to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_use(&mut self, item: &'a ItemUse) {
        if !is_for_tests(&item.attrs) {
            paths_of(&item.tree).into_iter().for_each(|path| self.add(path));
        }
    }

    fn visit_path(&mut self, path: &'a syn::Path) {
        self.add(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    /// Macros hide what they name from the parser.
    fn visit_macro(&mut self, item: &'a Macro) {
        let tokens = item.tokens.to_string();
        for named in tokens.split("crate :: ").skip(1) {
            let path = named.split(" :: ").map(|part| {
                let end = part.find(|c: char| !c.is_alphanumeric() && c != '_');
                part[..end.unwrap_or(part.len())].to_string()
            });
            self.paths.push(path.take_while(|part| !part.is_empty()).collect());
        }
        visit::visit_macro(self, item);
    }
}

/// All paths of a use item.
fn paths_of(tree: &UseTree) -> Vec<Vec<String>> {
    let below = |name: &syn::Ident, tree: &UseTree| {
        let mut paths = paths_of(tree);
        paths.iter_mut().for_each(|path| path.insert(0, name.to_string()));
        paths
    };
    match tree {
        UseTree::Path(path) => below(&path.ident, &path.tree),
        UseTree::Name(name) if name.ident == "self" => vec![Vec::new()],
        UseTree::Name(name) => vec![vec![name.ident.to_string()]],
        UseTree::Rename(name) => vec![vec![name.ident.to_string()]],
        UseTree::Glob(_) => vec![Vec::new()],
        UseTree::Group(group) => group.items.iter().flat_map(paths_of).collect(),
    }
}

/// Whether there is an attribute like `#[cfg(test)]`.
fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let list = attribute.meta.require_list();
        list.is_ok_and(|list| {
            list.path.is_ident("cfg")
                && list
                    .tokens
                    .to_string()
                    .split(|c: char| !c.is_alphanumeric())
                    .any(|w| w == "test")
        })
    })
}
