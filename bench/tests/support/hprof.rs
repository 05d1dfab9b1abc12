//! Heap dumps as `jvm-hprof` reads them, which is not ours, and questions about them.

use jvm_hprof::heap_dump::{FieldDescriptor, FieldValue, Instance, SubRecord};
use jvm_hprof::{Hprof, Id, IdSize, parse_hprof};
use std::collections::{HashMap, HashSet};
use std::path::Path;

/// A dump in memory. Ids are numbers, 0 is null.
#[derive(Default)]
pub struct Dump {
    names: HashMap<u64, String>,
    /// Ids by name, as in class files.
    classes: HashMap<String, u64>,
    serials: HashMap<u32, u64>,
    shapes: HashMap<u64, Shape>,
    objects: HashMap<u64, Object>,
    roots: Vec<u64>,
    /// Classes of the frames of each trace.
    traces: Vec<Vec<u64>>,
}

/// A class.
struct Shape {
    above: u64,
    loader: u64,
    statics: Vec<(u64, FieldValue)>,
    own: Vec<FieldDescriptor>,
}

enum Object {
    Instance { class: u64, fields: Vec<u8> },
    References { class: u64, elements: Vec<u64> },
    Longs(Vec<i64>),
    OtherPrimitives,
}

impl Dump {
    /// Reads a dump; the error says what is wrong with the file.
    pub fn read(file: &Path) -> Result<Dump, String> {
        let bytes = std::fs::read(file).map_err(|error| error.to_string())?;
        let hprof = parse_hprof(&bytes).map_err(|error| format!("{error:?}"))?;
        let mut dump = Dump::default();
        let mut frames = HashMap::new();
        for record in hprof.records_iter() {
            let record = record.map_err(|error| format!("{error:?}"))?;
            if let Some(Ok(name)) = record.as_utf_8() {
                let text = String::from_utf8_lossy(name.text()).into_owned();
                dump.names.insert(name.name_id().id(), text);
            } else if let Some(Ok(class)) = record.as_load_class() {
                let name = dump.names[&class.class_name_id().id()].clone();
                dump.classes.insert(name, class.class_obj_id().id());
                dump.serials.insert(class.class_serial().num(), class.class_obj_id().id());
            } else if let Some(Ok(frame)) = record.as_stack_frame() {
                assert!(dump.names.contains_key(&frame.method_name_id().id()));
                frames.insert(frame.id().id(), dump.serials[&frame.class_serial().num()]);
            } else if let Some(Ok(trace)) = record.as_stack_trace() {
                let ids = trace.frame_ids();
                dump.traces.push(ids.map(|id| frames[&id.unwrap().id()]).collect());
            } else if let Some(segment) = record.as_heap_dump_segment() {
                let segment = segment.map_err(|error| format!("{error:?}"))?;
                for part in segment.sub_records() {
                    dump.add(&hprof, part.map_err(|error| format!("{error:?}"))?);
                }
            }
        }
        Ok(dump)
    }

    fn add(&mut self, hprof: &Hprof<'_>, part: SubRecord<'_>) {
        let of = |id: Option<Id>| id.map_or(0, |id| id.id());
        match part {
            SubRecord::GcRootUnknown(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootThreadObj(root) => self.roots.push(of(root.thread_obj_id())),
            SubRecord::GcRootJniGlobal(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootJniLocalRef(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootJavaStackFrame(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootSystemClass(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootBusyMonitor(root) => self.roots.push(root.obj_id().id()),
            SubRecord::GcRootNativeStack(_) | SubRecord::GcRootThreadBlock(_) => {}
            SubRecord::Class(class) => {
                let statics = class.static_fields().map(|field| {
                    let field = field.unwrap();
                    assert!(self.names.contains_key(&field.name_id().id()));
                    (field.name_id().id(), field.value())
                });
                let shape = Shape {
                    above: of(class.super_class_obj_id()),
                    loader: of(class.class_loader_obj_id()),
                    statics: statics.collect(),
                    own: class.instance_field_descriptors().map(Result::unwrap).collect(),
                };
                let old = self.shapes.insert(class.obj_id().id(), shape);
                assert!(old.is_none(), "a class twice");
            }
            SubRecord::Instance(instance) => self.add_instance(&instance),
            SubRecord::ObjectArray(array) => {
                let elements = array.elements(hprof.header().id_size());
                let elements = elements.map(|id| of(id.unwrap())).collect();
                let class = array.array_class_obj_id().id();
                self.add_object(array.obj_id(), Object::References { class, elements });
            }
            SubRecord::PrimitiveArray(array) => {
                let object = match array.longs() {
                    Some(longs) => Object::Longs(longs.map(Result::unwrap).collect()),
                    None => Object::OtherPrimitives,
                };
                self.add_object(array.obj_id(), object);
            }
        }
    }

    fn add_instance(&mut self, instance: &Instance<'_>) {
        let class = instance.class_obj_id().id();
        let fields = instance.fields().to_vec();
        self.add_object(instance.obj_id(), Object::Instance { class, fields });
    }

    fn add_object(&mut self, id: Id, object: Object) {
        assert!(self.objects.insert(id.id(), object).is_none(), "an object twice");
    }

    /// The id of a class.
    pub fn class(&self, name: &str) -> u64 {
        self.classes[name]
    }

    pub fn instances_of(&self, wanted: u64) -> usize {
        let is_one =
            |object: &&Object| matches!(object, Object::Instance { class, .. } if *class == wanted);
        self.objects.values().filter(is_one).count()
    }

    pub fn arrays_of_longs(&self) -> usize {
        self.objects.values().filter(|object| matches!(object, Object::Longs(_))).count()
    }

    pub fn longs(&self, id: u64) -> &[i64] {
        match &self.objects[&id] {
            Object::Longs(longs) => longs,
            _ => panic!("{id:#x} is no long[]"),
        }
    }

    /// The elements of an array of references.
    pub fn elements(&self, id: u64) -> &[u64] {
        match &self.objects[&id] {
            Object::References { elements, .. } => elements,
            _ => panic!("{id:#x} is no array of references"),
        }
    }

    pub fn static_reference(&self, class: u64, name: &str) -> u64 {
        let is_it = |field: &&(u64, FieldValue)| self.names[&field.0] == name;
        match self.shapes[&class].statics.iter().find(is_it) {
            Some((_, FieldValue::ObjectId(id))) => id.map_or(0, |id| id.id()),
            other => panic!("static {name}: {other:?}"),
        }
    }

    pub fn reference_field(&self, id: u64, name: &str) -> u64 {
        match self.field(id, name) {
            FieldValue::ObjectId(id) => id.map_or(0, |id| id.id()),
            other => panic!("{name}: {other:?}"),
        }
    }

    pub fn int_field(&self, id: u64, name: &str) -> i32 {
        match self.field(id, name) {
            FieldValue::Int(value) => value,
            other => panic!("{name}: {other:?}"),
        }
    }

    fn field(&self, id: u64, name: &str) -> FieldValue {
        let Object::Instance { class, fields } = &self.objects[&id] else {
            panic!("{id:#x} is no instance");
        };
        let found = self.values(*class, fields).into_iter().find(|(field, _)| *field == name);
        found.unwrap_or_else(|| panic!("no field {name}")).1
    }

    /// Names and values of an instance's fields. Every byte is one of a field.
    fn values(&self, class: u64, mut bytes: &[u8]) -> Vec<(&str, FieldValue)> {
        let mut values = Vec::new();
        let mut at = class;
        while let Some(shape) = self.shapes.get(&at) {
            for field in &shape.own {
                let (rest, value) = field.field_type().parse_value(bytes, IdSize::U64).unwrap();
                values.push((self.names[&field.name_id().id()].as_str(), value));
                bytes = rest;
            }
            at = shape.above;
        }
        assert!(bytes.is_empty(), "{} bytes more than fields", bytes.len());
        values
    }

    /// The references of everything that has an id.
    fn references(&self) -> HashMap<u64, Vec<u64>> {
        let reference = |value: &FieldValue| match value {
            FieldValue::ObjectId(Some(id)) => Some(id.id()),
            _ => None,
        };
        let mut all: HashMap<u64, Vec<u64>> = HashMap::new();
        for (id, shape) in &self.shapes {
            let statics = shape.statics.iter().filter_map(|(_, value)| reference(value));
            let above = [shape.above, shape.loader].into_iter().filter(|id| *id != 0);
            all.insert(*id, statics.chain(above).collect());
        }
        for (id, object) in &self.objects {
            let references = match object {
                Object::Instance { class, fields } => {
                    let values = self.values(*class, fields);
                    let own = values.iter().filter_map(|(_, value)| reference(value));
                    own.chain([*class]).collect()
                }
                Object::References { class, elements } => {
                    elements.iter().copied().filter(|id| *id != 0).chain([*class]).collect()
                }
                Object::Longs(_) | Object::OtherPrimitives => Vec::new(),
            };
            all.insert(*id, references);
        }
        all
    }

    /// References, and roots, to objects that the dump does not have.
    pub fn missing_references(&self) -> usize {
        let all = self.references();
        let targets = all.values().flatten().chain(&self.roots);
        targets.filter(|id| !all.contains_key(id)).count()
    }

    /// Instances of a class that no root reaches.
    pub fn unrooted(&self, wanted: u64) -> usize {
        let all = self.references();
        let mut reached: HashSet<u64> = HashSet::new();
        let mut open = self.roots.clone();
        while let Some(next) = open.pop() {
            if reached.insert(next) {
                open.extend(all.get(&next).into_iter().flatten());
            }
        }
        let is_lost = |(id, object): &(&u64, &Object)| {
            matches!(object, Object::Instance { class, .. } if *class == wanted)
                && !reached.contains(id)
        };
        self.objects.iter().filter(is_lost).count()
    }

    /// Stacks with a frame of a method of this class.
    pub fn stacks_with(&self, class: u64) -> usize {
        self.traces.iter().filter(|frames| frames.contains(&class)).count()
    }
}
