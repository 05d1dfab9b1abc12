//! The types of recordings that the class library knows without asking for a class: the VM's own events, and the types
//! of constants. They come from a resource of the module `jdk.jfr`, whose numbers change from one JDK to the next.

use rustc_hash::FxHashMap;

/// All types of the resource.
pub struct Layout {
    types: FxHashMap<String, Type>,
}

/// A type: of an event, or of values in events.
pub struct Type {
    pub id: u64,
    pub is_event: bool,
    pub has_duration: bool,
    pub has_thread: bool,
    pub has_stack_trace: bool,
    /// Without those that the three above stand for.
    pub fields: Vec<Field>,
}

pub struct Field {
    pub name: String,
    pub type_name: String,
    /// The value is the number of a constant.
    pub is_constant: bool,
}

impl Layout {
    /// Reads the resource; `None` if it has another form than that of JDK 17.
    pub fn parse(bytes: &[u8]) -> Option<Layout> {
        let mut reader = Reader(bytes);
        let mut types = FxHashMap::default();
        for _ in 0..reader.int()? {
            let mut fields = Vec::new();
            for _ in 0..reader.int()? {
                fields.push(reader.field()?);
            }
            let name = reader.text()?;
            reader.skip_texts(3)?; // Label, description, category.
            let has_thread = reader.flag()?;
            let has_stack_trace = reader.flag()?;
            let has_start = reader.flag()?;
            let is_periodic = !reader.text()?.is_empty();
            let _cutoff_throttle_experimental = reader.take(3)?;
            let id = reader.long()?;
            let is_event = reader.flag()?;
            let _is_relation = reader.flag()?;
            let ty = Type {
                id,
                is_event,
                has_duration: has_start && !is_periodic,
                has_thread,
                has_stack_trace: has_stack_trace && !is_periodic,
                fields,
            };
            types.insert(name, ty);
        }
        let layout = Layout { types };
        layout.is_as_expected().then_some(layout)
    }

    pub fn find(&self, name: &str) -> Option<&Type> {
        self.types.get(name)
    }

    /// The number of a type that every JDK 17 has.
    pub fn id(&self, name: &str) -> u64 {
        self.find(name).unwrap_or_else(|| panic!("no type {name}")).id
    }

    /// The name of an event of the VM.
    pub fn event_name(&self, id: u64) -> Option<&str> {
        let found = self.types.iter().find(|(_, ty)| ty.is_event && ty.id == id);
        found.map(|(name, _)| name.as_str())
    }

    /// Whether constants have the fields that [`super::constants`] writes.
    fn is_as_expected(&self) -> bool {
        EXPECTED.iter().all(|(name, fields)| {
            let found = self.find(name);
            found.is_some_and(|ty| {
                ty.fields.iter().map(|field| &*field.name).eq(fields.iter().copied())
            })
        })
    }
}

/// Constants of these types are written field by field.
const EXPECTED: &[(&str, &[&str])] = &[
    (super::THREAD, &["osName", "osThreadId", "javaName", "javaThreadId", "group"]),
    ("jdk.types.ThreadGroup", &["parent", "name"]),
    (super::CLASS, &["classLoader", "name", "package", "modifiers", "hidden"]),
    ("jdk.types.ClassLoader", &["type", "name"]),
    ("jdk.types.Method", &["type", "name", "descriptor", "modifiers", "hidden"]),
    ("jdk.types.Symbol", &["string"]),
    ("jdk.types.Module", &["name", "version", "location", "classLoader"]),
    ("jdk.types.Package", &["name", "module", "exported"]),
    ("jdk.types.StackTrace", &["truncated", "frames"]),
    ("jdk.types.StackFrame", &["method", "lineNumber", "bytecodeIndex", "type"]),
    ("jdk.types.FrameType", &["description"]),
    ("jdk.types.GCName", &["name"]),
    ("jdk.types.GCCause", &["cause"]),
    ("jdk.types.GCWhen", &["when"]),
    (super::STRING, &[]),
];

/// Reads what a `DataOutputStream` has written.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(bytes)?;
        self.0 = rest;
        Some(taken)
    }

    fn int(&mut self) -> Option<u32> {
        Some(u32::from_be_bytes(self.take(4)?.try_into().ok()?))
    }

    fn long(&mut self) -> Option<u64> {
        Some(u64::from_be_bytes(self.take(8)?.try_into().ok()?))
    }

    fn flag(&mut self) -> Option<bool> {
        Some(self.take(1)?[0] != 0)
    }

    fn text(&mut self) -> Option<String> {
        let length = u16::from_be_bytes(self.take(2)?.try_into().ok()?);
        Some(String::from_utf8_lossy(self.take(usize::from(length))?).into_owned())
    }

    fn skip_texts(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.text().map(drop))
    }

    fn field(&mut self) -> Option<Field> {
        let (name, type_name) = (self.text()?, self.text()?);
        self.skip_texts(2)?; // Label, description.
        let is_constant = self.flag()?;
        let _array_unsigned = self.take(2)?;
        self.skip_texts(3)?; // Annotations, transition, relation.
        let _is_experimental = self.flag()?;
        Some(Field { name, type_name, is_constant })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boot::image::ClassImage;
    use std::path::Path;

    #[test]
    fn the_types_of_the_class_library_are_read() {
        let home =
            std::env::var("JAVA_HOME").unwrap_or("/usr/lib/jvm/java-17-openjdk-amd64".into());
        let image = ClassImage::open(&Path::new(&home).join("lib/modules")).unwrap();
        let bytes = image.file("jdk.jfr", "jdk/jfr/internal/types/metadata.bin").unwrap();
        let layout = Layout::parse(bytes).unwrap();
        let collection = layout.find("jdk.GarbageCollection").unwrap();
        assert!(collection.is_event && collection.has_duration && !collection.has_thread);
        assert_eq!(layout.event_name(collection.id), Some("jdk.GarbageCollection"));
        let load = layout.find("jdk.CPULoad").unwrap();
        assert!(!load.has_duration && load.fields.iter().all(|field| field.type_name == "float"));
        for cut in (0..bytes.len()).step_by(997) {
            assert!(Layout::parse(&bytes[..cut]).is_none());
        }
    }

    #[test]
    fn other_bytes_are_refused() {
        for bytes in
            [&b""[..], &[0; 3], &[0; 4], &[0xff; 64], &[0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff]]
        {
            assert!(Layout::parse(bytes).is_none(), "{bytes:?}");
        }
    }
}
