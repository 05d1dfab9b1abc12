//! The JDK's `lib/modules` image: classes and resources of the boot modules.
//!
//! The format (JDK `jdk.internal.jimage`): a header of seven words, then a perfect hash over full resource
//! names (redirect table and offset table, one word per resource), the attributes of each resource, a string
//! table, and the data. Own code because class look-up is on the start-up path and needs the
//! `/packages/...` entries, which the crates for this format do not find.

use memmap2::Mmap;
use std::collections::HashMap;
use std::path::Path;
use std::sync::RwLock;

/// The opened image. Any thread.
pub struct ClassImage {
    map: Mmap,
    entries: u32,
    redirect: usize,
    offsets: usize,
    locations: usize,
    strings: usize,
    data: usize,
    /// Module of each package that was asked for.
    modules: RwLock<HashMap<Vec<u8>, Option<String>>>,
}

/// Why an image cannot be used: a message for the command line.
#[derive(Debug)]
pub struct ImageError(String);

impl std::fmt::Display for ImageError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

impl std::error::Error for ImageError {}

impl ClassImage {
    /// Opens `<java home>/lib/modules`.
    pub fn open(path: &Path) -> Result<ClassImage, ImageError> {
        let failed = |why: &str| ImageError(format!("cannot read {}: {why}", path.display()));
        let file = std::fs::File::open(path).map_err(|e| failed(&e.to_string()))?;
        // SAFETY: the JDK's image is not written while programs use it; that is its contract with every JVM.
        let map = unsafe { Mmap::map(&file) }.map_err(|e| failed(&e.to_string()))?;
        let word = |i: usize| read_u32(&map, 4 * i).ok_or_else(|| failed("truncated"));
        if word(0)? != MAGIC {
            return Err(failed("not a module image of this machine's byte order"));
        }
        let (entries, location_bytes, string_bytes) = (word(4)?, word(5)?, word(6)?);
        let redirect = HEADER;
        let offsets = redirect + 4 * entries as usize;
        let locations = offsets + 4 * entries as usize;
        let strings = locations + location_bytes as usize;
        let data = strings + string_bytes as usize;
        if entries == 0 || data > map.len() {
            return Err(failed("truncated"));
        }
        let modules = RwLock::default();
        Ok(ClassImage { map, entries, redirect, offsets, locations, strings, data, modules })
    }

    /// The bytes of a class of a module; `class` is an internal name. `None` also for compressed
    /// resources, which no installed JDK has in its own image.
    pub fn class(&self, module: &str, class: &str) -> Option<&[u8]> {
        self.resource(&format!("/{module}/{class}.class"))
    }

    /// The bytes of another file of a module; `None` as above.
    pub fn file(&self, module: &str, path: &str) -> Option<&[u8]> {
        self.resource(&format!("/{module}/{path}"))
    }

    /// The module that holds a package (`java/lang`), if one does.
    pub fn module_of_package(&self, package: &[u8]) -> Option<String> {
        if let Some(known) = self.modules.read().expect("never poisoned").get(package) {
            return known.clone();
        }
        let dotted = String::from_utf8_lossy(package).replace('/', ".");
        let module = self.read_package(&dotted);
        self.modules.write().expect("never poisoned").insert(package.to_vec(), module.clone());
        module
    }

    /// A package resource is a list of (is-empty, module name) pairs; one of them is not empty.
    fn read_package(&self, dotted: &str) -> Option<String> {
        let content = self.resource(&format!("/packages/{dotted}"))?;
        let pair = content.chunks_exact(8).find(|pair| pair[..4] == [0; 4])?;
        let name = self.string(read_u32(pair, 4)? as u64)?;
        Some(String::from_utf8_lossy(name).into_owned())
    }

    fn resource(&self, full_name: &str) -> Option<&[u8]> {
        let location = self.location(full_name)?;
        let at = self.data + location[OFFSET] as usize;
        if location[COMPRESSED] != 0 {
            return None;
        }
        self.map.get(at..at + location[UNCOMPRESSED] as usize)
    }

    /// The attributes of a resource.
    fn location(&self, full_name: &str) -> Option<[u64; ATTRIBUTES]> {
        let first = hash(HASH_SEED, full_name) % self.entries;
        let redirect = read_u32(&self.map, self.redirect + 4 * first as usize)? as i32;
        let index = match redirect {
            0 => return None,
            seed if seed > 0 => hash(seed as u32, full_name) % self.entries,
            negative => (-1 - negative) as u32,
        };
        let offset = read_u32(&self.map, self.offsets + 4 * index as usize)? as usize;
        let location = parse_location(self.map.get(self.locations + offset..self.strings)?)?;
        self.is_named(&location, full_name).then_some(location)
    }

    /// `/module/parent/base.extension`, where any part may be missing.
    fn is_named(&self, location: &[u64; ATTRIBUTES], full_name: &str) -> bool {
        let part = |kind: usize| self.string(location[kind]).unwrap_or(b"");
        let mut rest = full_name.as_bytes();
        let mut take = |before: &[u8], text: &[u8], after: &[u8]| -> bool {
            if text.is_empty() {
                return true;
            }
            for piece in [before, text, after] {
                match rest.strip_prefix(piece) {
                    Some(behind) => rest = behind,
                    None => return false,
                }
            }
            true
        };
        take(b"/", part(MODULE), b"/")
            && take(b"", part(PARENT), b"/")
            && take(b"", part(BASE), b"")
            && take(b".", part(EXTENSION), b"")
            && rest.is_empty()
    }

    fn string(&self, offset: u64) -> Option<&[u8]> {
        let strings = &self.map[self.strings..self.data];
        strings.get(offset as usize..)?.split(|b| *b == 0).next()
    }
}

fn hash(seed: u32, name: &str) -> u32 {
    let mix = |h: u32, byte: u8| h.wrapping_mul(HASH_SEED) ^ byte as u32;
    name.bytes().fold(seed, mix) & 0x7fff_ffff
}

/// Each attribute is a byte (kind and length of the value less one) and a big-endian value.
fn parse_location(mut bytes: &[u8]) -> Option<[u64; ATTRIBUTES]> {
    let mut attributes = [0; ATTRIBUTES];
    loop {
        let (&head, rest) = bytes.split_first()?;
        let kind = (head >> 3) as usize;
        if kind == 0 {
            return Some(attributes);
        }
        let (value, rest) = rest.split_at_checked((head & 7) as usize + 1)?;
        let value = value.iter().fold(0, |sum, byte| sum << 8 | *byte as u64);
        *attributes.get_mut(kind)? = value;
        bytes = rest;
    }
}

fn read_u32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

const HEADER: usize = 28;
const MAGIC: u32 = 0xCAFE_DADA;
const HASH_SEED: u32 = 0x0100_0193;

const MODULE: usize = 1;
const PARENT: usize = 2;
const BASE: usize = 3;
const EXTENSION: usize = 4;
const OFFSET: usize = 5;
const COMPRESSED: usize = 6;
const UNCOMPRESSED: usize = 7;
const ATTRIBUTES: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> ClassImage {
        let home =
            std::env::var("JAVA_HOME").unwrap_or("/usr/lib/jvm/java-17-openjdk-amd64".into());
        ClassImage::open(&Path::new(&home).join("lib/modules")).unwrap()
    }

    #[test]
    fn finds_classes_and_the_modules_of_packages() {
        let image = image();
        assert_eq!(image.module_of_package(b"java/lang").as_deref(), Some("java.base"));
        assert_eq!(
            image.module_of_package(b"com/sun/tools/javac").as_deref(),
            Some("jdk.compiler")
        );
        assert_eq!(image.module_of_package(b"no/such"), None);
        let bytes = image.class("java.base", "java/lang/Object").unwrap();
        assert_eq!(&bytes[..4], &[0xca, 0xfe, 0xba, 0xbe]);
        assert!(image.class("java.base", "java/lang/Nothing").is_none());
    }

    #[test]
    fn says_why_an_image_cannot_be_read() {
        let error = ClassImage::open(Path::new("/nonexistent/modules")).err().unwrap();
        assert!(error.to_string().contains("/nonexistent/modules"));
    }
}
