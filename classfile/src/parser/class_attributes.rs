//! Attributes of the class itself (JVMS 4.7).

use super::annotations::class_marks;
use super::member_attributes::AnnotationAttributes;
use super::reader::Reader;
use super::{Parser, ensure, fail, is_array, modifiers};
use crate::access::AccessFlags;
use crate::class::{BootstrapMethod, ClassFile, EnclosingMethod, InnerClass};
use crate::constant_pool::{CpEntry, tag};
use crate::error::ClassFormat;
use crate::symbol::Symbol;
use rustc_hash::{FxHashMap, FxHashSet};

#[derive(Default)]
struct Seen<'a> {
    annotations: AnnotationAttributes,
    has_bootstrap_methods: bool,
    // Attributes that are looked into only when all have been met, as HotSpot does: which error is
    // reported depends on it.
    inner_classes: Option<Deferred<'a>>,
    nest_members: Option<Deferred<'a>>,
    record: Option<Deferred<'a>>,
    permitted_subclasses: Option<Deferred<'a>>,
}

/// The content of an attribute: where it starts, and how long it claims to be.
type Deferred<'a> = (Reader<'a>, usize);

impl<'a> Parser<'a> {
    pub(super) fn class_attributes(&mut self, class: &mut ClassFile) -> Result<(), ClassFormat> {
        let mut seen = Seen::default();
        for _ in 0..self.reader.u2()? {
            self.class_attribute(class, &mut seen)?;
        }
        self.deferred_attributes(class, &seen)?;
        ensure!(
            self.bootstrap_methods_needed == 0 || seen.has_bootstrap_methods,
            "Missing BootstrapMethods attribute in class file {}",
            self.class_name
        );
        class.annotations = seen.annotations.kept;
        if let Some(visible) = &class.annotations.visible {
            class.marks = class_marks(&self.pool, visible);
        }
        Ok(())
    }

    fn deferred_attributes(
        &mut self,
        class: &mut ClassFile,
        seen: &Seen<'a>,
    ) -> Result<(), ClassFormat> {
        let end = self.reader.clone();
        if let Some((start, length)) = &seen.inner_classes {
            self.reader = start.clone();
            class.inner_classes = self.inner_classes(*length)?;
        }
        if let Some((start, length)) = &seen.nest_members {
            self.reader = start.clone();
            class.nest_members =
                self.class_list(*length, "Nest member class_info_index", "NestMembers")?;
        }
        if let Some((start, length)) = &seen.record {
            self.reader = start.clone();
            class.record = Some(self.record(*length)?);
        }
        if let Some((start, length)) = &seen.permitted_subclasses {
            self.reader = start.clone();
            let what = "Permitted subclass class_info_index";
            class.permitted_subclasses =
                Some(self.class_list(*length, what, "PermittedSubclasses")?);
        }
        self.reader = end;
        Ok(())
    }

    fn defer(&mut self, length: usize) -> Result<Option<Deferred<'a>>, ClassFormat> {
        let start = self.reader.clone();
        self.reader.take(length)?;
        Ok(Some((start, length)))
    }

    fn class_attribute(
        &mut self,
        class: &mut ClassFile,
        seen: &mut Seen<'a>,
    ) -> Result<(), ClassFormat> {
        let name = self.class_name;
        let (attribute, length) =
            self.attribute_header("Attribute name has bad constant pool index")?;
        let check_first = |was_there: bool| -> Result<(), ClassFormat> {
            ensure!(!was_there, "Multiple {attribute} attributes in class file {name}");
            Ok(())
        };
        match (attribute.bytes(), self.major_version) {
            (b"SourceFile", _) => {
                ensure!(length == 2, "Wrong SourceFile attribute length in class file {name}");
                check_first(class.source_file.is_some())?;
                class.source_file = Some(self.source_file()?);
            }
            (b"SourceDebugExtension", _) => {
                check_first(class.source_debug_extension.is_some())?;
                class.source_debug_extension = Some(self.reader.take(length)?.into());
            }
            (b"InnerClasses", _) => {
                check_first(seen.inner_classes.is_some())?;
                seen.inner_classes = self.defer(length)?;
            }
            (b"Synthetic" | b"Deprecated", _) => {
                ensure!(
                    length == 0,
                    "Invalid {attribute} classfile attribute length {length} in class file {name}"
                );
                if attribute.bytes() == b"Synthetic" {
                    class.is_synthetic = true;
                } else {
                    class.is_deprecated = true;
                }
            }
            (b"Signature", 49..) => {
                check_first(class.signature.is_some())?;
                ensure!(
                    length == 2,
                    "Wrong Signature attribute length {length} in class file {name}"
                );
                class.signature = Some(self.class_signature()?);
            }
            (b"EnclosingMethod", 49..) => {
                check_first(class.enclosing_method.is_some())?;
                class.enclosing_method = Some(self.enclosing_method(length)?);
            }
            (b"BootstrapMethods", 51..) => {
                check_first(std::mem::replace(&mut seen.has_bootstrap_methods, true))?;
                class.bootstrap_methods = self.bootstrap_methods(length)?;
            }
            (b"NestMembers", 55..) => {
                check_first(seen.nest_members.is_some())?;
                ensure!(
                    class.nest_host.is_none(),
                    "Conflicting NestHost and NestMembers attributes in class file {name}"
                );
                seen.nest_members = self.defer(length)?;
            }
            (b"NestHost", 55..) => {
                check_first(class.nest_host.is_some())?;
                ensure!(
                    seen.nest_members.is_none(),
                    "Conflicting NestMembers and NestHost attributes in class file {name}"
                );
                class.nest_host = Some(self.nest_host(length)?);
            }
            (b"Record", 60..) => {
                check_first(seen.record.is_some())?;
                seen.record = self.defer(length)?;
            }
            (b"PermittedSubclasses", 61..) => {
                check_first(seen.permitted_subclasses.is_some())?;
                ensure!(
                    !class.access_flags.is_final(),
                    "PermittedSubclasses attribute in final class file {name}"
                );
                seen.permitted_subclasses = self.defer(length)?;
            }
            (_, version) => {
                let seen = &mut seen.annotations;
                if version < 49 || !self.annotation_attribute(attribute, length, "", seen)? {
                    self.reader.take(length)?;
                }
            }
        }
        Ok(())
    }

    fn source_file(&mut self) -> Result<Symbol, ClassFormat> {
        let index = self.reader.u2()?;
        match self.pool.utf8(index) {
            Some(file) => Ok(file),
            None => fail!(
                "Invalid SourceFile attribute at constant pool index {index} in class file {}",
                self.class_name
            ),
        }
    }

    fn class_signature(&mut self) -> Result<Symbol, ClassFormat> {
        let index = self.reader.u2()?;
        match self.pool.utf8(index) {
            Some(signature) => Ok(signature),
            None => fail!(
                "Invalid constant pool index {index} in Signature attribute in class file {}",
                self.class_name
            ),
        }
    }

    fn nest_host(&mut self, length: usize) -> Result<u16, ClassFormat> {
        let class = self.class_name;
        ensure!(length == 2, "Wrong NestHost attribute length in class file {class}");
        let index = self.reader.u2()?;
        ensure!(
            self.has_class(index),
            "Nest-host class_info_index {index} has bad constant type in class file {class}"
        );
        Ok(index)
    }

    fn enclosing_method(&mut self, length: usize) -> Result<EnclosingMethod, ClassFormat> {
        let class = self.class_name;
        ensure!(
            length == 4,
            "Wrong EnclosingMethod attribute length {length} in class file {class}"
        );
        let (class_index, method_index) = (self.reader.u2()?, self.reader.u2()?);
        ensure!(
            class_index != 0,
            "Invalid class index in EnclosingMethod attribute in class file {class}"
        );
        ensure!(
            self.has_class(class_index),
            "Invalid or out-of-bounds class index in EnclosingMethod attribute in class file \
             {class}"
        );
        ensure!(
            method_index == 0 || self.pool.name_and_type(method_index).is_some(),
            "Invalid or out-of-bounds method index in EnclosingMethod attribute in class file \
             {class}"
        );
        Ok(EnclosingMethod { class_index, method_index })
    }

    fn class_list(
        &mut self,
        length: usize,
        what: &str,
        attribute: &str,
    ) -> Result<Box<[u16]>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        self.reader.require(2 * count as usize)?;
        let mut list = self.reader.vec_for(count, 2);
        for _ in 0..count {
            let index = self.reader.u2()?;
            ensure!(
                self.has_class(index),
                "{what} {index} has bad constant type in class file {class}"
            );
            list.push(index);
        }
        ensure!(
            length == 2 + 2 * count as usize,
            "Wrong {attribute} attribute length in class file {class}"
        );
        Ok(list.into_boxed_slice())
    }

    fn bootstrap_methods(&mut self, length: usize) -> Result<Box<[BootstrapMethod]>, ClassFormat> {
        let class = self.class_name;
        ensure!(
            length >= 2,
            "Invalid BootstrapMethods attribute length {length} in class file {class}"
        );
        self.reader.require(length)?;
        let start = self.reader.position();
        let count = self.reader.u2()?;
        ensure!(
            self.bootstrap_methods_needed <= count as u32,
            "Short length on BootstrapMethods in class file {class}"
        );
        let mut methods = self.reader.vec_for(count, 4);
        for _ in 0..count {
            self.reader.require(4)?;
            let method_ref = self.reader.u2()?;
            ensure!(
                matches!(self.pool.entry(method_ref), CpEntry::MethodHandle { .. }),
                "bootstrap_method_index {method_ref} has bad constant type in class file {class}"
            );
            let argument_count = self.reader.u2()?;
            let used = self.reader.position() - start;
            ensure!(
                used + 2 * argument_count as usize <= length / 2 * 2,
                "Invalid BootstrapMethods num_bootstrap_methods or num_bootstrap_arguments value \
                 in class file {class}"
            );
            let mut arguments = self.reader.vec_for(argument_count, 2);
            for _ in 0..argument_count {
                let argument = self.reader.u2()?;
                ensure!(
                    is_loadable(self.pool.tag(argument)),
                    "argument_index {argument} has bad constant type in class file {class}"
                );
                arguments.push(argument);
            }
            methods.push(BootstrapMethod { method_ref, arguments: arguments.into_boxed_slice() });
        }
        ensure!(
            self.reader.position() - start == length,
            "Bad length on BootstrapMethods in class file {class}"
        );
        Ok(methods.into_boxed_slice())
    }

    fn inner_classes(&mut self, length: usize) -> Result<Box<[InnerClass]>, ClassFormat> {
        let class = self.class_name;
        let count = self.reader.u2()?;
        self.reader.require(8 * count as usize)?;
        let mut classes = self.reader.vec_for(count, 8);
        for _ in 0..count {
            classes.push(self.inner_class()?);
        }
        ensure!(
            length == 2 + 8 * count as usize,
            "Wrong InnerClasses attribute length in class file {class}"
        );
        // A nonsensical attribute is ignored, as if the class had no inner classes.
        if self.options.check_format && !self.is_nesting(&classes)? {
            return Ok(Box::default());
        }
        Ok(classes.into_boxed_slice())
    }

    fn inner_class(&mut self) -> Result<InnerClass, ClassFormat> {
        let class = self.class_name;
        let inner_class = self.reader.u2()?;
        ensure!(
            self.has_class(inner_class),
            "inner_class_info_index {inner_class} has bad constant type in class file {class}"
        );
        let outer_class = self.reader.u2()?;
        if outer_class != 0 {
            let Some(outer_name) = self.pool.class_name(outer_class) else {
                fail!(
                    "outer_class_info_index {outer_class} has bad constant type in class file \
                     {class}"
                );
            };
            ensure!(!is_array(outer_name), "Outer class is an array class in class file {class}");
        }
        let inner_name_index = self.reader.u2()?;
        let inner_name = self.pool.utf8(inner_name_index);
        ensure!(
            inner_name_index == 0 || inner_name.is_some(),
            "inner_name_index {inner_name_index} has bad constant type in class file {class}"
        );
        ensure!(
            inner_class != outer_class || !self.options.check_format,
            "Class is both outer and inner class in class file {class}"
        );
        let mut access_flags =
            AccessFlags::from_class_file(self.reader.u2()?) & modifiers::INNER_CLASS_MODIFIERS;
        if self.major_version < 53 {
            access_flags.remove(AccessFlags::MODULE);
        }
        if access_flags.is_interface() && self.major_version < 50 {
            access_flags.insert(AccessFlags::ABSTRACT);
        }
        self.check_class_modifiers(access_flags)?;
        Ok(InnerClass { inner_class, outer_class, inner_name, inner_name_index, access_flags })
    }

    /// Whether every class has one entry and no class is, through others, inside itself.
    fn is_nesting(&self, classes: &[InnerClass]) -> Result<bool, ClassFormat> {
        let mut entries = FxHashSet::default();
        let mut indices = FxHashSet::default();
        let mut is_unique = true;
        for entry in classes {
            let key = (
                entry.inner_class,
                entry.outer_class,
                entry.inner_name_index,
                entry.access_flags.bits(),
            );
            ensure!(
                entries.insert(key) || self.major_version < 49,
                "Duplicate entry in InnerClasses attribute in class file {}",
                self.class_name
            );
            is_unique &= indices.insert(entry.inner_class);
        }
        let mut outer_of = FxHashMap::default();
        for entry in classes {
            let inner = self.pool.class_name(entry.inner_class);
            let outer = self.pool.class_name(entry.outer_class);
            outer_of.entry(inner).or_insert(outer);
        }
        Ok(is_unique && !has_cycle(&outer_of))
    }
}

/// Whether following the map from some key leads back to it.
fn has_cycle(outer_of: &FxHashMap<Option<Symbol>, Option<Symbol>>) -> bool {
    let mut acyclic = FxHashSet::default();
    for start in outer_of.keys() {
        let mut path = Vec::new();
        let mut on_path = FxHashSet::default();
        let mut at = *start;
        while at.is_some() && !acyclic.contains(&at) {
            if !on_path.insert(at) {
                return true;
            }
            path.push(at);
            at = outer_of.get(&at).copied().flatten();
        }
        acyclic.extend(path);
    }
    false
}

fn is_loadable(constant: u8) -> bool {
    matches!(
        constant,
        tag::INTEGER
            | tag::FLOAT
            | tag::LONG
            | tag::DOUBLE
            | tag::CLASS
            | tag::STRING
            | tag::METHOD_HANDLE
            | tag::METHOD_TYPE
            | tag::DYNAMIC
    )
}
