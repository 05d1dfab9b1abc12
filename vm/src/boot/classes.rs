//! The first classes. Everything rests on `java.lang.Class`: mirrors are its instances and hold the statics
//! of all classes, so its layout is worked out before any class exists, and the mirrors of the classes that
//! come before it are made afterwards.

use crate::loading::{arrays, create, link, lookup, mirror};
use crate::machine::JavaThread;
use crate::runtime::KlassRef;
use classfile::symbol::Symbol;
use classfile::{ClassFile, ParseOptions};
use gc::object::layout::ReferenceFields;

/// Loads the classes that the VM knows by name; no Java code runs. Errors are messages for the command line.
pub fn load(t: &JavaThread) -> Result<(), String> {
    let known = &t.vm.known;
    known.set_statics_start(statics_start(t)?);
    let object = boot_class(t, "java/lang/Object")?;
    link::link(t, object).map_err(|_| "cannot link java/lang/Object".to_string())?;
    known.classes.all()[0].1.get_or_init(|| object);
    let class = boot_class(t, "java/lang/Class")?;
    fill_fields(t, Some(class))?;
    known.set_mirrors_ready(class);
    for early in t.vm.klasses.iter(t.vm.heap.layouts().count()) {
        make_mirror(t, early)?;
    }
    for name in ["java/io/Serializable", "java/lang/Cloneable"] {
        let klass = boot_class(t, name)?;
        cell(t, name).get_or_init(|| klass);
    }
    let primitives = arrays::make_primitives(t);
    for klass in primitives {
        make_mirror(t, klass)?;
    }
    for (name, cell) in known.classes.all() {
        let klass = boot_class(t, name)?;
        cell.get_or_init(|| klass);
    }
    fill_fields(t, None)?;
    let object_array = arrays::array_class(t, object).map_err(|_| "no room for Object[]")?;
    known.set_object_array(object_array);
    let fields = &known.fields;
    t.vm.heap.set_reference_fields(ReferenceFields {
        referent: fields.reference_referent() as u32,
        discovered: fields.reference_discovered() as u32,
        next: fields.reference_next() as u32,
        soft_timestamp: fields.soft_timestamp() as u32,
    });
    Ok(())
}

/// A class that a JDK 17 has.
pub fn boot_class(t: &JavaThread, name: &str) -> Result<KlassRef, String> {
    match lookup::load_boot_class(t, Symbol::of(name)) {
        Ok(Some(klass)) => Ok(klass),
        _ => Err(format!("the JDK's module image has no class {name}: is it a JDK 17?")),
    }
}

fn cell<'t>(t: &'t JavaThread, name: &str) -> &'t std::sync::OnceLock<KlassRef> {
    let found = t.vm.known.classes.all().into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name} is not a known class")).1
}

fn make_mirror(t: &JavaThread, klass: KlassRef) -> Result<(), String> {
    if !klass.mirror.is_null() {
        return Ok(());
    }
    mirror::create(t, klass, None, None).map_err(|_| "the heap is too small to start".into())
}

/// Where statics begin in mirrors: behind the instance fields of `java.lang.Class`, whose superclass has none.
fn statics_start(t: &JavaThread) -> Result<u32, String> {
    let bytes = t.vm.image.class("java.base", "java/lang/Class");
    let bytes = bytes.ok_or("the JDK's module image has no java.lang.Class")?;
    let file = ClassFile::parse(bytes, &ParseOptions::default()).map_err(|e| e.to_string())?;
    let is_instance = |i: &usize| !file.fields[*i].access_flags.is_static();
    let fields: Vec<usize> = (0..file.fields.len()).filter(is_instance).collect();
    let slot_bytes = t.vm.slot_bytes as u32;
    let layout = create::instance_layout(&file, &fields, None, true, slot_bytes);
    Ok(layout.placer.end().next_multiple_of(8))
}

/// Looks up the known fields, of one class or of all others.
fn fill_fields(t: &JavaThread, only: Option<KlassRef>) -> Result<(), String> {
    for (class, name, descriptor, cell) in t.vm.known.fields.all() {
        if cell.get().is_some() || only.is_some_and(|only| only.name.bytes() != class.as_bytes()) {
            continue;
        }
        let klass = boot_class(t, class)?;
        let offset = match descriptor {
            "" => {
                let injected = klass.inst().injected.iter().find(|(known, _)| *known == name);
                injected.map(|(_, offset)| *offset)
            }
            _ => {
                let field = klass.declared_field(Symbol::of(name), Symbol::of(descriptor));
                field.map(|field| field.offset)
            }
        };
        let offset = offset.ok_or_else(|| {
            format!("{class} has no field {name} {descriptor}: is the JDK version 17?")
        })?;
        cell.get_or_init(|| offset);
    }
    Ok(())
}
