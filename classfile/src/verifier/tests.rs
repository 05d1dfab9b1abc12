//! The verifier against the JDK's classes, which are all good, and against damaged ones.

use super::against_java::damage_code;
use super::frame::Frame;
use super::stack_map::Decoder;
use super::vtype::{Descriptors, VType};
use super::*;
use crate::bytecode::Instructions;
use crate::oopmap::{MethodOopMaps, MethodShape, OopMap};
use crate::symbol::Symbol;
use crate::tests::Random;
use crate::{ClassFile, Code, MethodInfo, ParseOptions, jdk_image};
use rustc_hash::FxHashMap;

/// The classes of an image, as if one loader had loaded them all.
#[derive(Default)]
pub struct World {
    classes: FxHashMap<Symbol, Known>,
}

struct Known {
    superclass: Option<Symbol>,
    is_interface: bool,
    /// Name and descriptor; whether a method; whether protected.
    members: Vec<(Symbol, Symbol, bool, bool)>,
}

impl World {
    pub fn add(&mut self, class: &ClassFile) {
        let fields = class
            .fields
            .iter()
            .map(|field| (field.name, field.descriptor, false, field.access_flags.is_protected()));
        let methods = class.methods.iter().map(|method| {
            (method.name, method.descriptor, true, method.access_flags.is_protected())
        });
        let known = Known {
            superclass: class.super_name,
            is_interface: class.is_interface(),
            members: fields.chain(methods).collect(),
        };
        self.classes.insert(class.name, known);
    }

    fn known(&self, name: Symbol) -> Result<&Known, String> {
        self.classes.get(&name).ok_or_else(|| format!("java/lang/NoClassDefFoundError: {name}"))
    }

    fn superclasses(&self, class: Symbol) -> Vec<Symbol> {
        let next = |name: &Symbol| self.known(*name).ok().and_then(|known| known.superclass);
        std::iter::successors(next(&class), next).collect()
    }

    pub fn verify(&mut self, class: &ClassFile) -> Result<(), Failure<String>> {
        let superclasses = match class.super_name {
            Some(name) => [vec![name], self.superclasses(name)].concat(),
            None => Vec::new(),
        };
        verify_class(class, &superclasses, &mut InPackage { world: self, class: class.name })
    }
}

/// A world as one class sees it.
struct InPackage<'a> {
    world: &'a World,
    class: Symbol,
}

impl Hierarchy for InPackage<'_> {
    type Error = String;

    fn is_interface(&mut self, class: Symbol) -> Result<bool, String> {
        Ok(self.world.known(class)?.is_interface)
    }

    fn is_subclass(&mut self, class: Symbol, ancestor: Symbol) -> Result<bool, String> {
        self.world.known(class)?;
        Ok(class == ancestor || self.world.superclasses(class).contains(&ancestor))
    }

    fn is_protected_elsewhere(
        &mut self,
        class: Symbol,
        name: Symbol,
        descriptor: Symbol,
        is_method: bool,
    ) -> Result<bool, String> {
        let package = |class: Symbol| crate::descriptor::package_of(class.bytes()).to_vec();
        for holder in [vec![class], self.world.superclasses(class)].concat() {
            for member in &self.world.known(holder)?.members {
                if (member.0, member.1, member.2) == (name, descriptor, is_method) {
                    return Ok(member.3 && package(holder) != package(self.class));
                }
            }
        }
        Ok(false)
    }
}

#[test]
fn every_class_of_java_base_passes() {
    let Some(image) = jdk_image::open() else { return };
    let mut world = World::default();
    let mut classes = Vec::new();
    jdk_image::for_each_class(&image, |module, name, bytes| {
        let class = ClassFile::parse(bytes, &ParseOptions::default()).expect(name);
        world.add(&class);
        if module == "java.base" {
            classes.push(class);
        }
    });
    for class in &classes {
        match world.verify(class) {
            Ok(()) => {}
            Err(Failure::Hierarchy(error)) => panic!("{}: {error}", class.name),
            Err(Failure::Rejected(error)) => panic!("{}: {error}", class.name),
        }
    }
    assert!(classes.len() > 5000);
}

/// Two ways to the same knowledge: the compiler's types at joins, and the oop maps at these joins.
#[test]
fn oop_maps_agree_with_stack_maps() {
    let Some(image) = jdk_image::open() else { return };
    let mut frames = 0;
    jdk_image::for_each_class(&image, |module, name, bytes| {
        if module != "java.base" {
            return;
        }
        let class = ClassFile::parse(bytes, &ParseOptions::default()).expect(name);
        for method in &class.methods {
            let Some(code) = &method.code else { continue };
            let Some(table) = &code.stack_map_table else { continue };
            let shape = shape(&class, method, code);
            let mut starts = vec![false; code.bytecode.len()];
            for instruction in Instructions::new(&code.bytecode) {
                starts[instruction.expect("legal").bci] = true;
            }
            let (max_locals, max_stack) = (code.max_locals as usize, code.max_stack as usize);
            let is_constructor = method.name.bytes() == b"<init>";
            let this = VType::Reference(class.name);
            let receiver = if is_constructor { VType::UninitializedThis } else { this };
            let receiver = (!method.is_static()).then_some(receiver);
            let arguments = Descriptors::default().slots(method.descriptor);
            let entry = Frame::at_entry(receiver, &arguments.arguments, max_locals, max_stack);
            let (pool, bytecode) = (&class.constant_pool, &code.bytecode);
            let decoder = Decoder { table, pool, bytecode, starts: &starts, max_locals, max_stack };
            let stack_map = decoder.decode::<()>(&entry).expect("a good table");
            let maps = MethodOopMaps::new();
            for frame in stack_map.frames() {
                // Only dead code has a frame but no map.
                let Ok(map) = maps.map_at(&shape, frame.bci as u16, |_| 0) else { continue };
                check_frame(frame, &map);
                frames += 1;
            }
        }
    });
    assert!(frames > 50_000, "only {frames} frames");
}

fn check_frame(frame: &Frame, map: &OopMap) {
    let is_object = |vtype: VType| vtype.is_reference() || vtype.is_uninitialized();
    for (index, &vtype) in frame.locals().iter().enumerate() {
        let is_marked = map.is_local_reference(index as u16);
        assert!(vtype == VType::Top || is_marked == is_object(vtype), "{frame:?} {map:?}");
    }
    assert_eq!(frame.stack().len(), map.stack_depth() as usize);
    for (index, &vtype) in frame.stack().iter().enumerate() {
        assert_eq!(map.is_stack_reference(index as u16), is_object(vtype), "{frame:?} {map:?}");
    }
}

/// Damaged code is rejected or has maps; whichever it is, nothing panics.
#[test]
fn code_that_passes_has_oop_maps() {
    let Some(image) = jdk_image::open() else { return };
    let mut world = World::default();
    jdk_image::for_each_class(&image, |module, name, bytes| {
        if module == "java.base" {
            world.add(&ClassFile::parse(bytes, &ParseOptions::default()).expect(name));
        }
    });
    let names = ["java/util/HashMap", "java/util/Formatter", "java/util/concurrent/FutureTask"];
    let files: Vec<_> = names.iter().map(|name| jdk_image::java_base(&image, name)).collect();
    let mut random = Random::from_environment();
    for round in 0..random.rounds / 3 {
        let mut bytes = files[round % files.len()].clone();
        damage_code(&mut random, &mut bytes);
        let Ok(class) = ClassFile::parse(&bytes, &ParseOptions::default()) else { continue };
        let passes = world.verify(&class).is_ok();
        for method in &class.methods {
            let Some(code) = &method.code else { continue };
            let shape = shape(&class, method, code);
            let maps = MethodOopMaps::new();
            let first = maps.map_at(&shape, 0, |_| 0);
            assert!(!passes || first.is_ok(), "{}.{}: {first:?}", class.name, method.name);
            for bci in (0..code.bytecode.len()).step_by(7) {
                let _ = maps.map_at(&shape, bci as u16, |_| 0);
            }
        }
    }
}

fn shape<'a>(class: &'a ClassFile, method: &MethodInfo, code: &'a Code) -> MethodShape<'a> {
    MethodShape {
        bytecode: &code.bytecode,
        exception_table: &code.exception_table,
        max_locals: code.max_locals,
        max_stack: code.max_stack,
        pool: &class.constant_pool,
        descriptor: method.descriptor,
        is_static: method.is_static(),
    }
}
