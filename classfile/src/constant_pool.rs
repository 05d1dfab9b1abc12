//! The constant pool as the class file has it: same indices, names interned, nothing resolved.

use crate::symbol::{self, Kept, Symbol};

/// One constant. Indices are constant pool indices of the same class file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CpEntry {
    /// Index 0, and the second index of every long and double.
    Unusable,
    Utf8(Symbol),
    Integer(i32),
    /// IEEE 754 bits.
    Float(u32),
    Long(i64),
    /// IEEE 754 bits.
    Double(u64),
    Class {
        name_index: u16,
        name: Symbol,
    },
    String {
        utf8_index: u16,
        utf8: Symbol,
    },
    Fieldref {
        class_index: u16,
        name_and_type_index: u16,
    },
    Methodref {
        class_index: u16,
        name_and_type_index: u16,
    },
    InterfaceMethodref {
        class_index: u16,
        name_and_type_index: u16,
    },
    NameAndType {
        name: Symbol,
        descriptor: Symbol,
    },
    /// `kind` is one of the `REF_*` numbers, 1 to 9; `index` a member reference.
    MethodHandle {
        kind: u8,
        index: u16,
    },
    MethodType {
        descriptor: Symbol,
    },
    /// `bootstrap_index` counts in the `BootstrapMethods` attribute.
    Dynamic {
        bootstrap_index: u16,
        name_and_type_index: u16,
    },
    InvokeDynamic {
        bootstrap_index: u16,
        name_and_type_index: u16,
    },
    Module {
        name: Symbol,
    },
    Package {
        name: Symbol,
    },
}

impl CpEntry {
    /// The class file's tag; 0 for an unusable entry.
    fn tag(self) -> u8 {
        match self {
            CpEntry::Unusable => 0,
            CpEntry::Utf8(_) => tag::UTF8,
            CpEntry::Integer(_) => tag::INTEGER,
            CpEntry::Float(_) => tag::FLOAT,
            CpEntry::Long(_) => tag::LONG,
            CpEntry::Double(_) => tag::DOUBLE,
            CpEntry::Class { .. } => tag::CLASS,
            CpEntry::String { .. } => tag::STRING,
            CpEntry::Fieldref { .. } => tag::FIELDREF,
            CpEntry::Methodref { .. } => tag::METHODREF,
            CpEntry::InterfaceMethodref { .. } => tag::INTERFACE_METHODREF,
            CpEntry::NameAndType { .. } => tag::NAME_AND_TYPE,
            CpEntry::MethodHandle { .. } => tag::METHOD_HANDLE,
            CpEntry::MethodType { .. } => tag::METHOD_TYPE,
            CpEntry::Dynamic { .. } => tag::DYNAMIC,
            CpEntry::InvokeDynamic { .. } => tag::INVOKE_DYNAMIC,
            CpEntry::Module { .. } => tag::MODULE,
            CpEntry::Package { .. } => tag::PACKAGE,
        }
    }

    /// The text of a `Utf8` entry.
    fn text(self) -> Option<Symbol> {
        match self {
            CpEntry::Utf8(text) => Some(text),
            _ => None,
        }
    }

    /// What [`ConstantPool`] keeps of the entry beside its tag.
    fn words(self) -> [u32; 2] {
        let halves = |bits: u64| [bits as u32, (bits >> 32) as u32];
        match self {
            CpEntry::Unusable => [0, 0],
            CpEntry::Utf8(text) => [text.number(), 0],
            CpEntry::Integer(value) => [value as u32, 0],
            CpEntry::Float(bits) => [bits, 0],
            CpEntry::Long(value) => halves(value as u64),
            CpEntry::Double(bits) => halves(bits),
            CpEntry::Class { name_index: index, name: text }
            | CpEntry::String { utf8_index: index, utf8: text } => [text.number(), index.into()],
            CpEntry::Fieldref { class_index: first, name_and_type_index: second }
            | CpEntry::Methodref { class_index: first, name_and_type_index: second }
            | CpEntry::InterfaceMethodref { class_index: first, name_and_type_index: second }
            | CpEntry::Dynamic { bootstrap_index: first, name_and_type_index: second }
            | CpEntry::InvokeDynamic { bootstrap_index: first, name_and_type_index: second } => {
                [first.into(), second.into()]
            }
            CpEntry::NameAndType { name, descriptor } => [name.number(), descriptor.number()],
            CpEntry::MethodHandle { kind, index } => [kind.into(), index.into()],
            CpEntry::MethodType { descriptor } => [descriptor.number(), 0],
            CpEntry::Module { name } | CpEntry::Package { name } => [name.number(), 0],
        }
    }

    /// The entry of a tag and of the words that [`words`](CpEntry::words) gave.
    fn of(tag: u8, [first, second]: [u32; 2]) -> CpEntry {
        let text = || Symbol::of_number(first);
        let bits = || u64::from(second) << 32 | u64::from(first);
        let (class_index, bootstrap_index) = (first as u16, first as u16);
        let name_and_type_index = second as u16;
        match tag {
            tag::UTF8 => CpEntry::Utf8(text()),
            tag::INTEGER => CpEntry::Integer(first as i32),
            tag::FLOAT => CpEntry::Float(first),
            tag::LONG => CpEntry::Long(bits() as i64),
            tag::DOUBLE => CpEntry::Double(bits()),
            tag::CLASS => CpEntry::Class { name_index: second as u16, name: text() },
            tag::STRING => CpEntry::String { utf8_index: second as u16, utf8: text() },
            tag::FIELDREF => CpEntry::Fieldref { class_index, name_and_type_index },
            tag::METHODREF => CpEntry::Methodref { class_index, name_and_type_index },
            tag::INTERFACE_METHODREF => {
                CpEntry::InterfaceMethodref { class_index, name_and_type_index }
            }
            tag::NAME_AND_TYPE => {
                CpEntry::NameAndType { name: text(), descriptor: Symbol::of_number(second) }
            }
            tag::METHOD_HANDLE => CpEntry::MethodHandle { kind: first as u8, index: second as u16 },
            tag::METHOD_TYPE => CpEntry::MethodType { descriptor: text() },
            tag::DYNAMIC => CpEntry::Dynamic { bootstrap_index, name_and_type_index },
            tag::INVOKE_DYNAMIC => CpEntry::InvokeDynamic { bootstrap_index, name_and_type_index },
            tag::MODULE => CpEntry::Module { name: text() },
            tag::PACKAGE => CpEntry::Package { name: text() },
            _ => CpEntry::Unusable,
        }
    }
}

/// The tags of the class file format (JVMS table 4.4-A).
pub mod tag {
    pub const UTF8: u8 = 1;
    pub const INTEGER: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const LONG: u8 = 5;
    pub const DOUBLE: u8 = 6;
    pub const CLASS: u8 = 7;
    pub const STRING: u8 = 8;
    pub const FIELDREF: u8 = 9;
    pub const METHODREF: u8 = 10;
    pub const INTERFACE_METHODREF: u8 = 11;
    pub const NAME_AND_TYPE: u8 = 12;
    pub const METHOD_HANDLE: u8 = 15;
    pub const METHOD_TYPE: u8 = 16;
    pub const DYNAMIC: u8 = 17;
    pub const INVOKE_DYNAMIC: u8 = 18;
    pub const MODULE: u8 = 19;
    pub const PACKAGE: u8 = 20;
}

/// Kinds of method handle constants (JVMS table 5.4.3.5-A).
pub mod ref_kind {
    pub const GET_FIELD: u8 = 1;
    pub const GET_STATIC: u8 = 2;
    pub const PUT_FIELD: u8 = 3;
    pub const PUT_STATIC: u8 = 4;
    pub const INVOKE_VIRTUAL: u8 = 5;
    pub const INVOKE_STATIC: u8 = 6;
    pub const INVOKE_SPECIAL: u8 = 7;
    pub const NEW_INVOKE_SPECIAL: u8 = 8;
    pub const INVOKE_INTERFACE: u8 = 9;
}

/// A `Fieldref`, `Methodref` or `InterfaceMethodref` with its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRef {
    /// Index of the `Class` entry.
    pub class_index: u16,
    pub name: Symbol,
    pub descriptor: Symbol,
    /// An `InterfaceMethodref`.
    pub is_interface: bool,
}

/// A `Dynamic` or `InvokeDynamic` constant with its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DynamicRef {
    /// Index into `ClassFile::bootstrap_methods`.
    pub bootstrap_index: u16,
    pub name: Symbol,
    pub descriptor: Symbol,
}

/// All constants, index 0 included (as [`CpEntry::Unusable`]). A parsed class file's pool has been
/// checked: every index inside it leads to an entry of the right kind. Immutable; any thread.
///
/// Nine bytes a constant: a program has many more constants than anything else of its classes.
///
/// It keeps the names of its `Utf8` entries, and so those of the others.
#[derive(Debug, Default)]
pub struct ConstantPool {
    /// The class file's tags; 0 for unusable entries.
    tags: Box<[u8]>,
    /// What an entry consists of: indices, numbers of symbols, halves of a number, the low one first.
    words: Box<[[u32; 2]]>,
    /// The name that a hidden class got after parsing.
    new_name: Option<Kept>,
}

impl ConstantPool {
    /// The caller has the names in hand.
    pub fn new(entries: Vec<CpEntry>) -> ConstantPool {
        entries.iter().filter_map(|entry| entry.text()).for_each(Symbol::keep);
        ConstantPool {
            new_name: None,
            tags: entries.iter().map(|entry| entry.tag()).collect(),
            words: entries.iter().map(|entry| entry.words()).collect(),
        }
    }

    /// `constant_pool_count`: the number of indices, the unusable 0 included.
    #[inline]
    pub fn len(&self) -> usize {
        self.tags.len()
    }

    pub fn is_empty(&self) -> bool {
        self.tags.is_empty()
    }

    /// All entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = CpEntry> + '_ {
        self.tags.iter().zip(&self.words).map(|(tag, words)| CpEntry::of(*tag, *words))
    }

    /// The entry, or `Unusable` when the index is out of range.
    #[inline]
    pub fn entry(&self, index: u16) -> CpEntry {
        match self.words.get(index as usize) {
            Some(words) => CpEntry::of(self.tags[index as usize], *words),
            None => CpEntry::Unusable,
        }
    }

    /// The class file's tag of an entry; 0 for unusable ones.
    pub fn tag(&self, index: u16) -> u8 {
        self.tags.get(index as usize).copied().unwrap_or(0)
    }

    pub fn utf8(&self, index: u16) -> Option<Symbol> {
        match self.entry(index) {
            CpEntry::Utf8(text) => Some(text),
            _ => None,
        }
    }

    /// Internal name of a `Class` entry: `java/lang/Object`, or a descriptor for arrays.
    pub fn class_name(&self, index: u16) -> Option<Symbol> {
        match self.entry(index) {
            CpEntry::Class { name, .. } => Some(name),
            _ => None,
        }
    }

    /// The modified UTF-8 of a `String` entry.
    pub fn string(&self, index: u16) -> Option<Symbol> {
        match self.entry(index) {
            CpEntry::String { utf8, .. } => Some(utf8),
            _ => None,
        }
    }

    /// Name and descriptor of a `NameAndType` entry.
    pub fn name_and_type(&self, index: u16) -> Option<(Symbol, Symbol)> {
        match self.entry(index) {
            CpEntry::NameAndType { name, descriptor } => Some((name, descriptor)),
            _ => None,
        }
    }

    /// A field, method or interface method reference.
    pub fn member(&self, index: u16) -> Option<MemberRef> {
        let (class_index, nat, is_interface) = match self.entry(index) {
            CpEntry::Fieldref { class_index, name_and_type_index }
            | CpEntry::Methodref { class_index, name_and_type_index } => {
                (class_index, name_and_type_index, false)
            }
            CpEntry::InterfaceMethodref { class_index, name_and_type_index } => {
                (class_index, name_and_type_index, true)
            }
            _ => return None,
        };
        let (name, descriptor) = self.name_and_type(nat)?;
        Some(MemberRef { class_index, name, descriptor, is_interface })
    }

    /// A dynamic constant or a dynamic call site.
    pub fn dynamic(&self, index: u16) -> Option<DynamicRef> {
        let (bootstrap_index, nat) = match self.entry(index) {
            CpEntry::Dynamic { bootstrap_index, name_and_type_index }
            | CpEntry::InvokeDynamic { bootstrap_index, name_and_type_index } => {
                (bootstrap_index, name_and_type_index)
            }
            _ => return None,
        };
        let (name, descriptor) = self.name_and_type(nat)?;
        Some(DynamicRef { bootstrap_index, name, descriptor })
    }

    /// Descriptor of anything that has one: member references, dynamic constants, call sites,
    /// method types and name-and-type entries.
    pub fn descriptor(&self, index: u16) -> Option<Symbol> {
        match self.entry(index) {
            CpEntry::MethodType { descriptor } | CpEntry::NameAndType { descriptor, .. } => {
                Some(descriptor)
            }
            CpEntry::Dynamic { .. } | CpEntry::InvokeDynamic { .. } => {
                Some(self.dynamic(index)?.descriptor)
            }
            _ => Some(self.member(index)?.descriptor),
        }
    }

    /// Gives the `Class` entry another name: hidden classes get theirs after parsing.
    pub(super) fn rename_class(&mut self, index: u16, new_name: Symbol) {
        if let CpEntry::Class { name_index, .. } = self.entry(index) {
            let renamed = CpEntry::Class { name_index, name: new_name };
            self.words[index as usize] = renamed.words();
            self.new_name = Some(Kept::new(new_name));
        }
    }
}

impl Drop for ConstantPool {
    fn drop(&mut self) {
        if !self.is_empty() {
            symbol::release(self.entries().filter_map(CpEntry::text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_kept_whole() {
        let (a, b) = (Symbol::of("a"), Symbol::of("b"));
        let (name_index, name_and_type_index) = (65535, 65534);
        let (class_index, bootstrap_index) = (1, 300);
        let entries = vec![
            CpEntry::Unusable,
            CpEntry::Utf8(a),
            CpEntry::Integer(i32::MIN),
            CpEntry::Float(0xff80_0001),
            CpEntry::Long(i64::MIN + 7),
            CpEntry::Unusable,
            CpEntry::Double(0xfff0_0000_0000_0001),
            CpEntry::Unusable,
            CpEntry::Class { name_index, name: a },
            CpEntry::String { utf8_index: 65535, utf8: b },
            CpEntry::Fieldref { class_index, name_and_type_index },
            CpEntry::Methodref { class_index, name_and_type_index },
            CpEntry::InterfaceMethodref { class_index, name_and_type_index },
            CpEntry::NameAndType { name: a, descriptor: b },
            CpEntry::MethodHandle { kind: 9, index: 65535 },
            CpEntry::MethodType { descriptor: b },
            CpEntry::Dynamic { bootstrap_index, name_and_type_index },
            CpEntry::InvokeDynamic { bootstrap_index, name_and_type_index },
            CpEntry::Module { name: a },
            CpEntry::Package { name: b },
        ];
        let mut pool = ConstantPool::new(entries.clone());
        assert_eq!(pool.entries().collect::<Vec<_>>(), entries);
        assert_eq!(pool.entry(20), CpEntry::Unusable);
        pool.rename_class(8, b);
        assert_eq!(pool.entry(8), CpEntry::Class { name_index, name: b });
    }
}
