//! From the heap to the records of a dump. A class has the id of its mirror, and a name the address of its symbol's
//! bytes.

use super::records::{self, Records};
use crate::frames::{roots, walk};
use crate::machine::{JavaThread, Vm};
use crate::runtime::headers::array_base;
use crate::runtime::{Field, KlassKind, KlassRef, object};
use classfile::BasicType;
use classfile::symbol::Symbol;
use gc::core::inspection::{Inspector, Objects, StoppedHeap};
use gc::object::{KlassId, ObjectRef, RootSlot};
use rustc_hash::{FxHashMap, FxHashSet};
use std::fs::File;
use std::io;

/// Writes a dump while the heap is inspected.
pub struct Dumper {
    vm: &'static Vm,
    records: Records,
    /// By class id.
    shapes: Vec<Option<Shape>>,
    /// Names that are written.
    names: FxHashSet<Symbol>,
    /// Numbers of classes in `LOAD_CLASS`, from 1.
    serials: FxHashMap<KlassId, u32>,
    frames: u64,
    /// For a heap that can be written after the pause.
    snapshot_file: Option<File>,
}

/// How objects of a class are written.
enum Shape {
    /// The class file's order: the fields of the class, then those of its superclass, and so on.
    Instance {
        class: u64,
        bytes: usize,
        fields: Vec<(BasicType, usize)>,
    },
    ObjectArray {
        class: u64,
    },
    PrimitiveArray {
        element: BasicType,
    },
}

impl Dumper {
    /// `snapshot_file` is as [`Inspector::snapshot_file`] has it.
    pub fn new(vm: &'static Vm, records: Records, snapshot_file: Option<File>) -> Dumper {
        let (names, serials) = Default::default();
        Dumper { vm, records, shapes: Vec::new(), names, serials, frames: 0, snapshot_file }
    }

    /// Writes what is left. May block.
    pub fn finish(self) -> io::Result<()> {
        self.records.end()
    }

    /// Writes a name if it is the first time that it is needed; its id.
    fn name(&mut self, name: Symbol) -> u64 {
        let id = name.bytes().as_ptr() as u64;
        if self.names.insert(name) {
            let body = [&id.to_be_bytes(), name.bytes()].concat();
            self.records.record(records::UTF8, &body);
        }
        id
    }

    fn write_classes(&mut self, heap: &StoppedHeap<'_>) {
        let classes: Vec<(KlassRef, ObjectRef)> = self
            .vm
            .klasses
            .iter(heap.klass_count())
            .filter(|klass| !klass.is_primitive())
            .map(|klass| (klass, heap.load_root(klass.mirror)))
            .filter(|(_, mirror)| !mirror.is_null())
            .collect();
        for (index, (klass, mirror)) in classes.iter().enumerate() {
            let serial = index as u32 + 1;
            self.serials.insert(klass.id, serial);
            let name = self.name(klass.name);
            let mut body = serial.to_be_bytes().to_vec();
            body.extend(heap.id(*mirror).to_be_bytes());
            body.extend(NO_TRACE.to_be_bytes());
            body.extend(name.to_be_bytes());
            self.records.record(records::LOAD_CLASS, &body);
        }
        self.shapes.resize_with(heap.klass_count() as usize, || None);
        for (klass, mirror) in &classes {
            self.shapes[klass.id.0 as usize] = Some(self.shape(klass, heap.id(*mirror)));
        }
        for (klass, mirror) in classes {
            self.write_class(heap, klass, mirror);
        }
    }

    fn shape(&self, klass: KlassRef, class: u64) -> Shape {
        match klass.kind {
            KlassKind::ObjectArray { .. } => Shape::ObjectArray { class },
            KlassKind::PrimitiveArray { element } => Shape::PrimitiveArray { element },
            KlassKind::Instance(_) | KlassKind::Primitive(_) => {
                let chain = std::iter::successors(Some(klass), |klass| klass.super_klass);
                let fields = chain.flat_map(|klass| klass.fields()).filter(|f| !f.is_static());
                let fields: Vec<_> = fields.map(|f| (f.ty, f.offset as usize)).collect();
                let bytes = fields.iter().map(|(ty, _)| bytes_of(*ty)).sum();
                Shape::Instance { class, bytes, fields }
            }
        }
    }

    fn write_class(&mut self, heap: &StoppedHeap<'_>, klass: KlassRef, mirror: ObjectRef) {
        // A name must be written before the segment that needs it.
        let all: Vec<&Field> = klass.fields().to_vec();
        all.iter().for_each(|field| _ = self.name(field.name()));
        let (statics, own): (Vec<&Field>, Vec<&Field>) =
            all.into_iter().partition(|field| field.is_static());
        let bytes = 1
            + 8
            + 4
            + 6 * 8
            + 4
            + 3 * 2
            + statics.iter().map(|field| 8 + 1 + bytes_of(field.ty)).sum::<usize>()
            + own.len() * (8 + 1);
        let above = klass.super_klass.map_or(0, |above| heap.id(heap.load_root(above.mirror)));
        let loader = heap.id(heap.load_root(&klass.loader.object));
        let instance_bytes = match &self.shapes[klass.id.0 as usize] {
            Some(Shape::Instance { bytes, .. }) => *bytes,
            _ => 0,
        };
        self.records.sub_record(bytes, |records| {
            records.put_u1(records::CLASS_DUMP);
            records.put_id(heap.id(mirror));
            records.put_u4(NO_TRACE);
            records.put_id(above);
            records.put_id(loader);
            // Signers, protection domain, and two that are reserved.
            (0..4).for_each(|_| records.put_id(0));
            records.put_u4(instance_bytes as u32);
            records.put_u2(0);
            records.put_u2(statics.len() as u16);
            for field in statics {
                records.put_id(field.name().bytes().as_ptr() as u64);
                records.put_u1(type_of(field.ty));
                put_value(records, heap, mirror, field.ty, field.offset as usize);
            }
            records.put_u2(own.len() as u16);
            for field in own {
                records.put_id(field.name().bytes().as_ptr() as u64);
                records.put_u1(type_of(field.ty));
            }
        });
    }

    /// Threads: their objects, stacks, and the objects that these hold.
    fn write_threads(&mut self, heap: &StoppedHeap<'_>) {
        self.write_trace(NO_TRACE, 0, &[]);
        let vm = self.vm;
        let mut serial = 0;
        vm.threads.for_each(&mut |thread| {
            let object = thread.thread_object.get();
            if object.is_null() {
                return;
            }
            serial += 1;
            let frames: Vec<u64> = walk::frames(thread).map(|frame| self.frame(frame)).collect();
            let trace = NO_TRACE + serial;
            self.write_trace(trace, serial, &frames);
            self.records.sub_record(1 + 8 + 4 + 4, |records| {
                records.put_u1(records::ROOT_THREAD_OBJECT);
                records.put_id(heap.id(object));
                records.put_u4(serial);
                records.put_u4(trace);
            });
            self.write_roots_of(heap, thread, serial);
        });
    }

    fn write_roots_of(&mut self, heap: &Objects<'_>, thread: &JavaThread, serial: u32) {
        let mut in_thread = |tag: u8, object: ObjectRef| {
            if !object.is_null() {
                self.records.sub_record(1 + 8 + 4 + 4, |records| {
                    records.put_u1(tag);
                    records.put_id(heap.id(object));
                    records.put_u4(serial);
                    records.put_u4(NO_FRAME);
                });
            }
        };
        roots::visit_roots(thread, &mut |root| in_thread(records::ROOT_JAVA_FRAME, *root));
        thread.handles.visit(&mut |root| in_thread(records::ROOT_JNI_LOCAL, *root));
        in_thread(records::ROOT_JNI_LOCAL, thread.pending.get());
        let mut used = Vec::new();
        thread.locks.visit(&mut |root| used.push(*root));
        used.push(thread.wanted_monitor.get());
        for object in used.into_iter().filter(|object| !object.is_null()) {
            self.write_root(heap, records::ROOT_MONITOR_USED, object);
        }
    }

    /// A frame of a stack; its id.
    fn frame(&mut self, visited: walk::Visited<'_>) -> u64 {
        let method = visited.method();
        let source = method.holder.instance().and_then(|instance| instance.file.source_file);
        let line = match (visited.is_native(), visited.line()) {
            (true, _) => NATIVE_LINE,
            (false, Some(line)) => i32::from(line),
            (false, None) => NO_LINE,
        };
        let names = [Some(method.name()), Some(method.descriptor()), source];
        let names = names.map(|name| name.map_or(0, |name| self.name(name)));
        self.frames += 1;
        let mut body = self.frames.to_be_bytes().to_vec();
        names.iter().for_each(|name| body.extend(name.to_be_bytes()));
        let class = self.serials.get(&method.holder.id).copied().unwrap_or(0);
        body.extend(class.to_be_bytes());
        body.extend(line.to_be_bytes());
        self.records.record(records::FRAME, &body);
        self.frames
    }

    fn write_trace(&mut self, serial: u32, thread: u32, frames: &[u64]) {
        let mut body = Vec::new();
        for number in [serial, thread, frames.len() as u32] {
            body.extend(number.to_be_bytes());
        }
        frames.iter().for_each(|frame| body.extend(frame.to_be_bytes()));
        self.records.record(records::TRACE, &body);
    }

    fn write_root(&mut self, heap: &Objects<'_>, tag: u8, object: ObjectRef) {
        self.records.sub_record(1 + 8, |records| {
            records.put_u1(tag);
            records.put_id(heap.id(object));
        });
    }

    /// Strong roots outside of threads: classes, which live as long as the VM, global references, and the VM's own.
    fn write_strong_roots(&mut self, heap: &StoppedHeap<'_>) {
        let vm = self.vm;
        vm.globals.visit_strong(&mut |slot| {
            let object = heap.load_root(slot);
            self.records.sub_record(1 + 8 + 8, |records| {
                records.put_u1(records::ROOT_JNI_GLOBAL);
                records.put_id(heap.id(object));
                records.put_id(std::ptr::from_ref(slot) as u64);
            });
        });
        let mut visit = |slot: &RootSlot| {
            let object = heap.load_root(slot);
            if object.is_null() {
                return;
            }
            let is_class = self.class_of_mirror(object).is_some();
            let tag = if is_class { records::ROOT_STICKY_CLASS } else { records::ROOT_UNKNOWN };
            self.write_root(heap, tag, object);
        };
        vm.holders.visit_permanent(false, &mut visit);
        vm.holders.visit_settled(&mut visit);
        vm.modules.visit_strong(&mut visit);
        visit(&vm.threads.system_group);
        visit(&vm.threads.main_group);
        visit(&vm.spare_out_of_memory);
        visit(&vm.pending_references);
    }

    /// The class that has a `CLASS_DUMP` in place of this object.
    fn class_of_mirror(&self, object: ObjectRef) -> Option<KlassRef> {
        if object.klass() != self.vm.known.classes.class().id {
            return None;
        }
        let class: i32 = object::get(object, self.vm.known.mirror_klass_id());
        let klass = self.vm.klasses.find(KlassId(class as u32))?;
        self.serials.contains_key(&klass.id).then_some(klass)
    }
}

impl Inspector for Dumper {
    fn snapshot_file(&mut self) -> Option<File> {
        self.snapshot_file.take()
    }

    fn failed(&mut self, error: io::Error) {
        self.records.fail(error);
    }

    fn begin(&mut self, heap: &StoppedHeap<'_>) {
        self.write_classes(heap);
        self.write_threads(heap);
        self.write_strong_roots(heap);
    }

    fn object(&mut self, objects: &Objects<'_>, object: ObjectRef) {
        if self.class_of_mirror(object).is_some() {
            return;
        }
        let shape = self.shapes.get(object.klass().0 as usize).and_then(Option::as_ref);
        let records = &mut self.records;
        match shape {
            // A class whose mirror does not exist yet, while the VM starts.
            None => {}
            Some(Shape::Instance { class, bytes, fields }) => {
                records.sub_record(1 + 8 + 4 + 8 + 4 + bytes, |records| {
                    records.put_u1(records::INSTANCE_DUMP);
                    records.put_id(objects.id(object));
                    records.put_u4(NO_TRACE);
                    records.put_id(*class);
                    records.put_u4(*bytes as u32);
                    for (ty, offset) in fields {
                        put_value(records, objects, object, *ty, *offset);
                    }
                });
            }
            Some(Shape::ObjectArray { class }) => {
                let (base, slot) = (array_base(objects.slot_bytes()), objects.slot_bytes());
                let head = 1 + 8 + 4 + 4 + 8;
                let length = fitting(object.array_length(), 8, head);
                records.sub_record(head + length * 8, |records| {
                    records.put_u1(records::OBJECT_ARRAY_DUMP);
                    records.put_id(objects.id(object));
                    records.put_u4(NO_TRACE);
                    records.put_u4(length as u32);
                    records.put_id(*class);
                    for index in 0..length {
                        records.put_id(objects.id_at(object, base + index * slot));
                    }
                });
            }
            Some(Shape::PrimitiveArray { element }) => {
                let width = bytes_of(*element);
                let head = 1 + 8 + 4 + 4 + 1;
                let length = fitting(object.array_length(), width, head);
                records.sub_record(head + length * width, |records| {
                    records.put_u1(records::PRIMITIVE_ARRAY_DUMP);
                    records.put_id(objects.id(object));
                    records.put_u4(NO_TRACE);
                    records.put_u4(length as u32);
                    records.put_u1(type_of(*element));
                    put_elements(records, object, width, length * width);
                });
            }
        }
    }
}

/// How many elements fit into a segment: its length has 32 bits. HotSpot cuts larger arrays too.
fn fitting(length: usize, width: usize, head: usize) -> usize {
    length.min((u32::MAX as usize - head) / width)
}

fn is_reference(ty: BasicType) -> bool {
    matches!(ty, BasicType::Object | BasicType::Array)
}

fn bytes_of(ty: BasicType) -> usize {
    match ty {
        BasicType::Boolean | BasicType::Byte => 1,
        BasicType::Char | BasicType::Short => 2,
        BasicType::Int | BasicType::Float => 4,
        BasicType::Long | BasicType::Double | BasicType::Object | BasicType::Array => 8,
        BasicType::Void => 0,
    }
}

/// Primitive types have the numbers of the class file format.
fn type_of(ty: BasicType) -> u8 {
    if is_reference(ty) { OBJECT_TYPE } else { ty as u8 }
}

#[inline]
fn put_value(
    records: &mut Records,
    objects: &Objects<'_>,
    object: ObjectRef,
    ty: BasicType,
    offset: usize,
) {
    match bytes_of(ty) {
        _ if is_reference(ty) => records.put_id(objects.id_at(object, offset)),
        1 => records.put(&object::get::<i8>(object, offset).to_be_bytes()),
        2 => records.put(&object::get::<i16>(object, offset).to_be_bytes()),
        4 => records.put(&object::get::<i32>(object, offset).to_be_bytes()),
        _ => records.put(&object::get::<i64>(object, offset).to_be_bytes()),
    }
}

fn put_elements(records: &mut Records, array: ObjectRef, width: usize, bytes: usize) {
    let mut buffer = [0; 8 << 10];
    for start in (0..bytes).step_by(buffer.len()) {
        let part = &mut buffer[..(bytes - start).min(8 << 10)];
        object::copy_out(array, array_base(width) + start, part);
        if width > 1 && cfg!(target_endian = "little") {
            part.chunks_exact_mut(width).for_each(<[u8]>::reverse);
        }
        records.put(part);
    }
}

/// The number of the trace without frames.
const NO_TRACE: u32 = 1;
const NO_FRAME: u32 = u32::MAX;
const NO_LINE: i32 = -1;
const NATIVE_LINE: i32 = -3;
const OBJECT_TYPE: u8 = 2;
