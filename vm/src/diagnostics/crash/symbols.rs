//! From an address to a library and a function: `/proc/self/maps` and the symbol tables of ELF files.
//!
//! `dladdr` is not used: it takes the loader's lock, and knows exported functions only.

use super::files;
use super::output::Text;
use libc::c_void;
use object::Endianness;
use object::elf::{FileHeader64, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC};
use object::read::elf::{FileHeader, Sym};
use std::ffi::CStr;
use std::fmt;
use std::ops::ControlFlow;

/// A mapping of the process.
#[derive(Clone)]
pub struct Mapping {
    pub start: usize,
    pub end: usize,
    pub is_executable: bool,
    /// The lowest address at which the same file is mapped.
    base: usize,
    /// With a NUL behind it.
    path: [u8; PATH],
    path_length: usize,
}

impl Mapping {
    /// The one with an address in it. Async-signal-safe.
    pub fn of(address: usize) -> Option<Mapping> {
        let mut found = None;
        let mut last = Mapping {
            start: 0,
            end: 0,
            is_executable: false,
            base: 0,
            path: [0; PATH],
            path_length: 0,
        };
        files::for_each_line(c"/proc/self/maps", &mut |line| {
            let Some((start, end, is_executable, path)) = parse(line) else {
                return ControlFlow::Continue(());
            };
            let path = &path[..path.len().min(PATH - 1)];
            if !path.is_empty() && path != last.path() {
                last.base = start;
                last.path = [0; PATH];
                last.path[..path.len()].copy_from_slice(path);
                last.path_length = path.len();
            }
            if address < start {
                return ControlFlow::Break(());
            }
            if address >= end {
                return ControlFlow::Continue(());
            }
            (last.start, last.end, last.is_executable) = (start, end, is_executable);
            if path.is_empty() {
                last.path_length = 0;
            }
            found = Some(last.clone());
            ControlFlow::Break(())
        });
        found
    }

    /// Of the file; empty if there is none.
    pub fn path(&self) -> &[u8] {
        &self.path[..self.path_length]
    }

    /// Of the file, without its folder.
    pub fn name(&self) -> &[u8] {
        self.path().rsplit(|byte| *byte == b'/').next().unwrap_or_default()
    }

    pub fn offset(&self, address: usize) -> usize {
        address - self.base
    }

    /// Calls `found` with the name of the function at an address and the distance to its beginning.
    fn symbol(&self, address: usize, found: &mut dyn FnMut(&str, usize)) {
        let Some(path) = CStr::from_bytes_until_nul(&self.path).ok() else { return };
        if !path.to_bytes().starts_with(b"/") {
            return;
        }
        let Some(file) = Image::open(path) else { return };
        let _ = find(file.bytes(), self.offset(address), address, found);
    }
}

/// `7f00-7f10 r-xp 00000000 fe:00 12345   /path`
fn parse(line: &[u8]) -> Option<(usize, usize, bool, &[u8])> {
    let line = str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let (start, end) =
        (usize::from_str_radix(start, 16).ok()?, usize::from_str_radix(end, 16).ok()?);
    let is_executable = words.next()?.contains('x');
    let path = line.find(['/', '[']).map_or("", |at| &line[at..]);
    Some((start, end, is_executable, path.as_bytes()))
}

/// Looks into the full table of symbols first, then into that of exported ones.
fn find(
    file: &[u8],
    offset: usize,
    address: usize,
    found: &mut dyn FnMut(&str, usize),
) -> object::Result<()> {
    let header = FileHeader64::<Endianness>::parse(file)?;
    let endian = header.endian()?;
    let sections = header.sections(endian, file)?;
    // A program that is not position-independent lies where its file says.
    let wanted = match header.e_type(endian) {
        object::elf::ET_EXEC => address as u64,
        _ => offset as u64,
    };
    for kind in [SHT_SYMTAB, SHT_DYNSYM] {
        let symbols = sections.symbols(endian, file, kind)?;
        let at = symbols.iter().find(|symbol| {
            let start = symbol.st_value(endian);
            symbol.st_type() == STT_FUNC
                && symbol.st_shndx(endian) != SHN_UNDEF
                && start <= wanted
                && wanted - start < symbol.st_size(endian).max(1)
        });
        if let Some(symbol) = at {
            let name = symbols.symbol_name(endian, symbol)?;
            if let Ok(name) = str::from_utf8(name) {
                found(name, (wanted - symbol.st_value(endian)) as usize);
            }
            return Ok(());
        }
    }
    Ok(())
}

/// A file in memory; unmapped when dropped.
struct Image {
    start: *mut c_void,
    length: usize,
}

impl Image {
    fn open(path: &CStr) -> Option<Image> {
        // SAFETY: the path is a C string; a stat of zero bytes is one; the mapping is new.
        unsafe {
            let descriptor = libc::open(path.as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
            if descriptor < 0 {
                return None;
            }
            let mut stat: libc::stat = std::mem::zeroed();
            let failed = libc::fstat(descriptor, &mut stat);
            let length = if failed == 0 { stat.st_size.max(0) as usize } else { 0 };
            let (protection, flags) = (libc::PROT_READ, libc::MAP_PRIVATE);
            let start = match length {
                0 => libc::MAP_FAILED,
                _ => libc::mmap(std::ptr::null_mut(), length, protection, flags, descriptor, 0),
            };
            libc::close(descriptor);
            (start != libc::MAP_FAILED).then_some(Image { start, length })
        }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: mapped for this length as long as `self` lives. A file that somebody truncates meanwhile is a fault,
        // which the report survives.
        unsafe { std::slice::from_raw_parts(self.start.cast(), self.length) }
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the mapping of `open`.
        unsafe { libc::munmap(self.start, self.length) };
    }
}

/// A place in native code: `[libjvm.so+0x123]  function+0x4`.
pub struct Place {
    pub pc: usize,
    /// Return addresses belong to the call before them.
    pub is_return: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inside = self.pc - usize::from(self.is_return && self.pc > 0);
        let Some(mapping) = Mapping::of(inside).filter(|mapping| !mapping.name().is_empty()) else {
            return write!(f, "{:#018x}", self.pc);
        };
        write!(f, "[{}+{:#x}]", Text(mapping.name()), mapping.offset(self.pc))?;
        let mut outcome = Ok(());
        mapping.symbol(inside, &mut |name, distance| {
            let name = rustc_demangle::demangle(name);
            let distance = distance + usize::from(self.is_return);
            outcome = write!(f, "  {name:#}+{distance:#x}");
        });
        outcome
    }
}

const PATH: usize = 512;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_names() {
        let pc = Mapping::of as *const () as usize + 1;
        let place = Place { pc, is_return: false }.to_string();
        assert!(place.contains("Mapping") && place.ends_with("+0x1"), "{place}");
        let mapping = Mapping::of(pc).unwrap();
        assert!(mapping.is_executable && mapping.path().starts_with(b"/"));
        let place = Place { pc: libc::getpid as *const () as usize, is_return: false }.to_string();
        assert!(place.contains("libc") && place.contains("getpid"), "{place}");
    }

    #[test]
    fn addresses_of_nothing_are_numbers() {
        assert_eq!(Place { pc: 0, is_return: true }.to_string(), "0x0000000000000000");
        assert!(Mapping::of(1).is_none());
    }
}
