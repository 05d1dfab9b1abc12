//! What events refer to by number: classes, methods, threads, stack traces, strings.
//!
//! A chunk has all constants that its events need. Classes and what belongs to them stay, and each chunk gets those
//! that any event has referred to. Stack traces and strings may be many: they have an *epoch*, which is the number of
//! the chunk in which they were last referred to. A thread may refer to one before a chunk ends, and commit its event
//! after that, so constants are kept for one chunk more.

use super::encoding::Encoder;
use super::layout::Layout;
use super::{CLASS, STRING, THREAD};
use crate::frames::walk;
use crate::loading::modules::ModuleRef;
use crate::loading::strings;
use crate::machine::JavaThread;
use crate::runtime::{KlassRef, LoaderData, MethodRef};
use classfile::AccessFlags;
use gc::object::ObjectRef;
use rustc_hash::FxHashMap;
use std::hash::Hash;

/// All constants of a VM. Those that look at objects are for running threads; none is a safepoint.
#[derive(Default)]
pub struct Constants {
    symbols: Pool<Box<str>>,
    /// By number of the class; the one here is that of the type.
    classes: Pool<u32>,
    /// By number of the class, and slot.
    methods: Pool<(u32, u32)>,
    loaders: Pool<u32>,
    /// By loader and name.
    packages: Pool<(u32, Box<[u8]>)>,
    /// By number of a named module, or of the loader of an unnamed one.
    modules: Pool<(bool, u32)>,
    /// By number of the parent and name.
    groups: Pool<(u64, String)>,
    /// By `Thread.tid`, which is the number too.
    threads: FxHashMap<u64, Thread>,
    /// By whether frames were left out, and the frames.
    traces: Aging<(bool, Box<[Place]>)>,
    /// By the number that the class library has given them; they are encoded.
    strings: FxHashMap<u64, Aged>,
    /// The values of types with one text, by type.
    texts: FxHashMap<&'static str, Pool<&'static str>>,
    /// The number of the chunk that is being written.
    epoch: u64,
}

struct Thread {
    name: String,
    os_thread: i32,
    group: u64,
    is_written: bool,
}

/// A frame of a stack trace.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Place {
    method: u64,
    line: u32,
    bci: u32,
    kind: u64,
}

/// Constants that stay.
struct Pool<K> {
    numbers: FxHashMap<K, u64>,
    /// Numbers and encoded values, in the order in which they came.
    values: Vec<(u64, Vec<u8>)>,
    /// How many of them the chunk has.
    written: usize,
}

impl<K> Default for Pool<K> {
    fn default() -> Self {
        Pool { numbers: FxHashMap::default(), values: Vec::new(), written: 0 }
    }
}

impl<K: Hash + Eq> Pool<K> {
    fn add(&mut self, key: K, number: u64, encode: impl FnOnce(&mut Encoder)) -> u64 {
        let mut value = Encoder::new();
        encode(&mut value);
        self.numbers.insert(key, number);
        self.values.push((number, value.into_bytes()));
        number
    }

    /// With a number of the pool's own, from 1.
    fn add_next(&mut self, key: K, encode: impl FnOnce(&mut Encoder)) -> u64 {
        let number = self.values.len() as u64 + 1;
        self.add(key, number, encode)
    }

    fn write(&mut self, out: &mut Tables, ty: u64) {
        let new = &self.values[self.written..];
        out.pool(ty, new.iter().map(|(number, value)| (*number, value.as_slice())));
        self.written = self.values.len();
    }
}

/// Constants that go when no event has referred to them for a while.
struct Aging<K> {
    entries: FxHashMap<K, Aged>,
    next: u64,
}

impl<K> Default for Aging<K> {
    fn default() -> Self {
        Aging { entries: FxHashMap::default(), next: 1 }
    }
}

struct Aged {
    number: u64,
    value: Vec<u8>,
    epoch: u64,
    is_written: bool,
}

/// Encoded tables of constants.
#[derive(Default)]
pub struct Tables {
    pub pools: u64,
    pub bytes: Encoder,
}

impl Tables {
    fn pool<'a>(&mut self, ty: u64, entries: impl ExactSizeIterator<Item = (u64, &'a [u8])>) {
        if entries.len() == 0 {
            return;
        }
        self.pools += 1;
        self.bytes.number(ty);
        self.bytes.number(entries.len() as u64);
        for (number, value) in entries {
            self.bytes.number(number);
            self.bytes.raw(value);
        }
    }
}

impl Constants {
    /// A new chunk has no constants yet.
    pub fn begin_chunk(&mut self) {
        fn again<K>(pool: &mut Pool<K>) {
            pool.written = 0;
        }
        again(&mut self.symbols);
        again(&mut self.classes);
        again(&mut self.methods);
        again(&mut self.loaders);
        again(&mut self.packages);
        again(&mut self.modules);
        again(&mut self.groups);
        self.texts.values_mut().for_each(again);
        self.threads.values_mut().for_each(|thread| thread.is_written = false);
        let traces = self.traces.entries.values_mut();
        traces.chain(self.strings.values_mut()).for_each(|aged| aged.is_written = false);
    }

    /// From now on constants are those of the next chunk.
    pub fn next_epoch(&mut self) {
        self.epoch += 1;
        let oldest = self.epoch.saturating_sub(EPOCHS_KEPT);
        self.traces.entries.retain(|_, trace| trace.epoch >= oldest);
        self.strings.retain(|_, string| string.epoch >= oldest);
    }

    /// All that the chunk does not have yet.
    pub fn write(&mut self, layout: &Layout) -> Tables {
        let mut out = Tables::default();
        self.symbols.write(&mut out, layout.id("jdk.types.Symbol"));
        self.classes.write(&mut out, layout.id(CLASS));
        self.methods.write(&mut out, layout.id("jdk.types.Method"));
        self.loaders.write(&mut out, layout.id("jdk.types.ClassLoader"));
        self.packages.write(&mut out, layout.id("jdk.types.Package"));
        self.modules.write(&mut out, layout.id("jdk.types.Module"));
        self.groups.write(&mut out, layout.id("jdk.types.ThreadGroup"));
        for (ty, texts) in &mut self.texts {
            texts.write(&mut out, layout.id(ty));
        }
        let mut new = Vec::new();
        for (number, thread) in self.threads.iter_mut().filter(|(_, thread)| !thread.is_written) {
            let mut value = Encoder::new();
            value.text(Some(&thread.name));
            value.number(thread.os_thread as u64);
            value.text(Some(&thread.name));
            value.number(*number);
            value.number(thread.group);
            new.push((*number, value.into_bytes()));
            thread.is_written = true;
        }
        let new = new.iter().map(|(number, value)| (*number, value.as_slice()));
        out.pool(layout.id(THREAD), new);
        write_aged(&mut out, layout.id("jdk.types.StackTrace"), self.traces.entries.values_mut());
        write_aged(&mut out, layout.id(STRING), self.strings.values_mut());
        out
    }

    /// A value of a type with one text.
    pub fn text(&mut self, ty: &'static str, text: &'static str) -> u64 {
        let pool = self.texts.entry(ty).or_default();
        match pool.numbers.get(text) {
            Some(number) => *number,
            None => pool.add_next(text, |value| value.text(Some(text))),
        }
    }

    /// Keeps a string under a number of the class library's.
    pub fn string(&mut self, number: u64, units: &[u16]) {
        let mut value = Encoder::new();
        value.units(units);
        let (value, epoch) = (value.into_bytes(), self.epoch);
        self.strings.insert(number, Aged { number, value, epoch, is_written: false });
    }

    fn symbol(&mut self, text: &str) -> u64 {
        match self.symbols.numbers.get(text) {
            Some(number) => *number,
            None => self.symbols.add_next(text.into(), |value| value.text(Some(text))),
        }
    }

    /// The number of a class.
    pub fn class(&mut self, t: &JavaThread, klass: KlassRef) -> u64 {
        let number = t.vm.recorder.type_id(klass);
        if self.classes.numbers.contains_key(&klass.serial) {
            return number;
        }
        let loader = self.loader(t, klass.loader);
        let name = self.symbol(&klass.name.text());
        let package = self.package(t, klass);
        self.classes.add(klass.serial, number, |value| {
            value.number(loader);
            value.number(name);
            value.number(package);
            value.number(u64::from(klass.flags.difference(AccessFlags::SUPER).bits()));
            value.flag(klass.is_hidden());
        })
    }

    fn loader(&mut self, t: &JavaThread, loader: &'static LoaderData) -> u64 {
        if let Some(number) = self.loaders.numbers.get(&loader.id) {
            return *number;
        }
        let object = t.load_root(&loader.object);
        let (class, name) = if object.is_null() {
            (0, Some("bootstrap".to_string()))
        } else {
            let name = t.load_ref(object, t.vm.known.fields.loader_name());
            let name = (!name.is_null()).then(|| strings::to_text(t, name));
            // The class of a loader has another loader.
            (self.class(t, t.klass_of(object)), name)
        };
        let name = name.map_or(0, |name| self.symbol(&name));
        self.loaders.add_next(loader.id, |value| {
            value.number(class);
            value.number(name);
        })
    }

    /// 0 for types without one.
    fn package(&mut self, t: &JavaThread, klass: KlassRef) -> u64 {
        if klass.instance().is_none() || klass.package().is_empty() {
            return 0;
        }
        let key = (klass.loader.id, klass.package().into());
        if let Some(number) = self.packages.numbers.get(&key) {
            return *number;
        }
        let module = t.vm.modules.of_class(klass);
        let is_exported = match module {
            ModuleRef::Named(module) => module.exports_to_all(klass.package()),
            ModuleRef::Unnamed(_) => true,
        };
        let module = self.module(t, module);
        let name = self.symbol(&String::from_utf8_lossy(klass.package()));
        self.packages.add_next(key, |value| {
            value.number(name);
            value.number(module);
            value.flag(is_exported);
        })
    }

    fn module(&mut self, t: &JavaThread, module: ModuleRef) -> u64 {
        let (key, loader) = match module {
            ModuleRef::Named(module) => ((true, module.id), module.loader),
            ModuleRef::Unnamed(loader) => ((false, loader.id), loader),
        };
        if let Some(number) = self.modules.numbers.get(&key) {
            return *number;
        }
        let loader = self.loader(t, loader);
        let texts = match module {
            ModuleRef::Named(module) => {
                [Some(&*module.name), module.version.as_deref(), module.location.as_deref()]
            }
            ModuleRef::Unnamed(_) => [None; 3],
        };
        let texts = texts.map(|text| text.map_or(0, |text| self.symbol(text)));
        self.modules.add_next(key, |value| {
            texts.into_iter().for_each(|text| value.number(text));
            value.number(loader);
        })
    }

    fn method(&mut self, t: &JavaThread, method: MethodRef) -> u64 {
        let key = (method.holder.serial, method.slot);
        if let Some(number) = self.methods.numbers.get(&key) {
            return *number;
        }
        let class = self.class(t, method.holder);
        let name = self.symbol(&method.name().text());
        let descriptor = self.symbol(&method.descriptor().text());
        self.methods.add_next(key, |value| {
            value.number(class);
            value.number(name);
            value.number(descriptor);
            value.number(u64::from(method.flags().bits()));
            value.flag(method.is_hidden());
        })
    }

    /// The number of the current thread's stack, without `skipped` frames, of which at most `depth` are kept. 0: it has
    /// no frames.
    pub fn stack_trace(&mut self, t: &JavaThread, skipped: usize, depth: usize) -> u64 {
        let mut places = Vec::new();
        let mut frames = walk::frames(t).skip(skipped);
        for visited in frames.by_ref().take(depth) {
            let kind = match (visited.is_native(), visited.frame()) {
                (true, _) => "Native",
                (_, Some(_)) => "Interpreted",
                _ => "JIT compiled",
            };
            places.push(Place {
                method: self.method(t, visited.method()),
                line: visited.line().map_or(0, u32::from),
                bci: visited.bci().map_or(0, u32::from),
                kind: self.text("jdk.types.FrameType", kind),
            });
        }
        if places.is_empty() {
            return 0;
        }
        let key = (frames.next().is_some(), places.into_boxed_slice());
        let epoch = self.epoch;
        if let Some(known) = self.traces.entries.get_mut(&key) {
            known.epoch = epoch;
            return known.number;
        }
        let mut value = Encoder::new();
        value.flag(key.0);
        value.number(key.1.len() as u64);
        for place in &key.1 {
            value.number(place.method);
            value.number(u64::from(place.line));
            value.number(u64::from(place.bci));
            value.number(place.kind);
        }
        let number = self.traces.next;
        self.traces.next += 1;
        let aged = Aged { number, value: value.into_bytes(), epoch, is_written: false };
        self.traces.entries.insert(key, aged);
        number
    }

    /// The number of a thread, by its object; `os_thread` is 0 where it is not known.
    pub fn thread(&mut self, t: &JavaThread, thread: ObjectRef, os_thread: i32) -> u64 {
        let fields = &t.vm.known.fields;
        let number = crate::runtime::object::get::<i64>(thread, fields.thread_tid()) as u64;
        let name = strings::name_of_thread(t, thread);
        if let Some(known) = self.threads.get_mut(&number) {
            if known.name != name || (os_thread != 0 && known.os_thread != os_thread) {
                (known.name, known.is_written) = (name, false);
                known.os_thread = if os_thread != 0 { os_thread } else { known.os_thread };
            }
            return number;
        }
        let group = self.group(t, t.load_ref(thread, fields.thread_group()));
        self.threads.insert(number, Thread { name, os_thread, group, is_written: false });
        number
    }

    /// 0: none, as of a thread that has ended.
    fn group(&mut self, t: &JavaThread, group: ObjectRef) -> u64 {
        if group.is_null() {
            return 0;
        }
        let fields = &t.vm.known.fields;
        let parent = self.group(t, t.load_ref(group, fields.group_parent()));
        let name = t.load_ref(group, fields.group_name());
        let name = if name.is_null() { String::new() } else { strings::to_text(t, name) };
        let key = (parent, name);
        if let Some(number) = self.groups.numbers.get(&key) {
            return *number;
        }
        let name = key.1.clone();
        self.groups.add_next(key, |value| {
            value.number(parent);
            value.text(Some(&name));
        })
    }
}

fn write_aged<'a>(out: &mut Tables, ty: u64, entries: impl Iterator<Item = &'a mut Aged>) {
    let mut new = Vec::new();
    for entry in entries.filter(|entry| !entry.is_written) {
        entry.is_written = true;
        new.push(&*entry);
    }
    out.pool(ty, new.iter().map(|entry| (entry.number, entry.value.as_slice())));
}

/// Epochs before the present one whose stack traces and strings are kept: of the chunk that ends, and of the one
/// before.
const EPOCHS_KEPT: u64 = 2;
