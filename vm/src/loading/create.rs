//! Making a [`Klass`] of a parsed class file: field layout, method records, the mirror.

use super::injected::INJECTED;
use super::mirror;
use crate::machine::JavaThread;
use crate::options::jit::JitOptions;
use crate::runtime::code::compiled::MethodJit;
use crate::runtime::field_placer::FieldPlacer;
use crate::runtime::headers::first_field;
use crate::runtime::klass::{DISPLAY, InstanceKlass, KlassKind, Settling, state};
use crate::runtime::method::{Intrinsic, NOT_VIRTUAL};
use crate::runtime::pool::RuntimePool;
use crate::runtime::{ClassHolder, Field, Handle, JResult, Klass, KlassRef, LoaderData, Method};
use classfile::symbol::{Kept, Symbol};
use classfile::{AccessFlags, BasicType, ClassFile, FieldInfo, FieldType, MethodDescriptor};
use classfile::{MethodInfo, MethodMarks};
use gc::object::layout::{KlassLayout, ReferenceKind};
use gc::object::{OBJECT_BYTES_MIN, align_object};
use parking_lot::{Condvar, Mutex};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};

/// The inputs of a class other than its file.
pub struct Parts {
    pub file: ClassFile,
    pub loader: &'static LoaderData,
    pub holder: &'static ClassHolder,
    pub super_klass: Option<KlassRef>,
    pub interfaces: Box<[KlassRef]>,
    pub is_hidden: bool,
    pub protection_domain: Option<Handle>,
    pub class_data: Option<Handle>,
}

/// Makes the class and its mirror; in no dictionary yet. A safepoint (the mirror is allocated).
pub fn create(t: &JavaThread, parts: Parts) -> JResult<KlassRef> {
    let shape = Shape::compute(t, &parts);
    let layout = shape.layout(t, &parts.file);
    let Parts { file, loader, holder, super_klass, interfaces, is_hidden, .. } = parts;
    let id = t.vm.heap.layouts().register_of(holder.id, layout);
    let name = file.name;
    let flags = file.access_flags;
    let has_finalizer = has_finalizer(&file, super_klass);
    let mut roots = holder.roots.lock();
    let instance = InstanceKlass {
        pool: RuntimePool::new(&file.constant_pool, &mut roots),
        file,
        methods: OnceLock::new(),
        fields: OnceLock::new(),
        state: AtomicU8::new(state::LOADED),
        init_thread: AtomicUsize::new(0),
        init_lock: Mutex::new(()),
        init_done: Condvar::new(),
        link_thread: AtomicUsize::new(0),
        init_error: roots.take(),
        is_hidden,
        nest_host: OnceLock::new(),
        reference_kind: shape.kind,
        placer: shape.placer.clone(),
        refs: shape.refs.clone(),
        injected: shape.injected.clone(),
        mirror_bytes: shape.mirror_bytes,
        static_refs: shape.static_refs,
        call_sites: OnceLock::new(),
        constants: OnceLock::new(),
        interfaces,
    };
    let klass: &'static mut Klass = Box::leak(Box::new(Klass {
        id,
        serial: t.vm.klasses.next_serial(),
        name,
        kept_name: Kept::new(name),
        loader,
        holder,
        flags,
        super_klass,
        all_interfaces: all_interfaces(super_klass, &instance.interfaces),
        kind: KlassKind::Instance(Box::new(instance)),
        mirror: roots.take(),
        array_of_this: OnceLock::new(),
        display: [None; DISPLAY],
        depth: super_klass.map_or(0, |s| s.depth + 1),
        super_cache: AtomicPtr::new(std::ptr::null_mut()),
        vtable: OnceLock::new(),
        vtable_start: AtomicPtr::default(),
        itable: OnceLock::new(),
        component_id: 0,
        instance_bytes: if flags.is_interface() { 0 } else { shape.bytes() },
        has_finalizer,
        may_be_finalized: AtomicBool::new(has_finalizer),
    }));
    drop(roots);
    let klass = publish_display(klass);
    if has_finalizer {
        let parents = std::iter::successors(super_klass, |parent| parent.super_klass);
        parents.for_each(|parent| parent.may_be_finalized.store(true, Ordering::Relaxed));
    }
    add_members(t, klass, &shape);
    holder.add(klass);
    t.vm.klasses.publish(klass);
    mirror::create(t, klass, parts.protection_domain, parts.class_data)?;
    t.vm.holders.settle(t, klass);
    Ok(klass)
}

/// Sets `display` from the superclass and the class itself, and makes the class shared.
pub(super) fn publish_display(klass: &'static mut Klass) -> KlassRef {
    if let Some(parent) = klass.super_klass {
        klass.display = parent.display;
    }
    let depth = klass.depth as usize;
    let address: *mut Klass = klass;
    if depth < DISPLAY {
        // SAFETY: the class is leaked, so shared references to it may live for ever; this function owns the
        // only exclusive one and does not use it again.
        unsafe { (*address).display[depth] = Some(&*address) };
    }
    // SAFETY: as above.
    unsafe { &*address }
}

/// Direct superinterfaces, theirs, and the superclass's, each once.
pub(super) fn all_interfaces(
    super_klass: Option<KlassRef>,
    direct: &[KlassRef],
) -> Box<[KlassRef]> {
    let mut all: Vec<KlassRef> = super_klass.map_or(Vec::new(), |s| s.all_interfaces.to_vec());
    for interface in direct {
        for each in interface.all_interfaces.iter().copied().chain([*interface]) {
            if !all.contains(&each) {
                all.push(each);
            }
        }
    }
    all.into_boxed_slice()
}

/// Offsets of all fields of one class.
struct Shape {
    /// Offset of every declared field, static or not, in class file order.
    offsets: Vec<u32>,
    placer: FieldPlacer,
    refs: Box<[u32]>,
    injected: Box<[(&'static str, u32)]>,
    kind: ReferenceKind,
    mirror_bytes: u32,
    static_refs: u32,
}

impl Shape {
    fn compute(t: &JavaThread, parts: &Parts) -> Shape {
        let file = &parts.file;
        let slot_bytes = t.vm.slot_bytes as u32;
        let is_boot = parts.loader.is_boot();
        let (instance_fields, statics): (Vec<usize>, Vec<usize>) =
            (0..file.fields.len()).partition(|i| !file.fields[*i].access_flags.is_static());
        let mut offsets = vec![0; file.fields.len()];
        let layout =
            instance_layout(file, &instance_fields, parts.super_klass, is_boot, slot_bytes);
        for (field, offset) in instance_fields.iter().zip(&layout.offsets) {
            offsets[*field] = *offset;
        }
        let start = match t.vm.known.statics_start() {
            Some(start) => start,
            // java.lang.Class itself, or a class that is needed to load it: boot computes it beforehand.
            None => panic!("{} is laid out before java.lang.Class is known", file.name),
        };
        let (static_refs, mirror_end) =
            place_statics(file, &statics, start, slot_bytes, &mut offsets);
        Shape {
            offsets,
            placer: layout.placer,
            refs: layout.refs,
            injected: layout.injected,
            kind: reference_kind(file.name, parts.super_klass, is_boot),
            mirror_bytes: align_object(mirror_end as usize) as u32,
            static_refs,
        }
    }

    fn layout(&self, t: &JavaThread, file: &ClassFile) -> KlassLayout {
        if file.name.bytes() == b"java/lang/Class" {
            return KlassLayout::Mirror {
                refs: self.refs.clone(),
                statics_start: t.vm.known.statics_start().expect("computed before any class"),
                static_refs_at: self.injected("static_refs"),
                bytes_at: self.injected("mirror_bytes"),
                klass_id_at: self.injected("klass_id"),
            };
        }
        KlassLayout::Instance { bytes: self.bytes(), refs: self.refs.clone(), kind: self.kind }
    }

    /// Of an instance, aligned.
    fn bytes(&self) -> u32 {
        OBJECT_BYTES_MIN.max(align_object(self.placer.end() as usize)) as u32
    }

    fn injected(&self, name: &str) -> u32 {
        let found = self.injected.iter().find(|(known, _)| *known == name);
        found.unwrap_or_else(|| panic!("no injected field {name}")).1
    }
}

/// Offsets of instance fields.
pub struct InstanceLayout {
    /// For the fields asked for, in their order.
    pub offsets: Vec<u32>,
    /// It has placed them.
    pub placer: FieldPlacer,
    pub refs: Box<[u32]>,
    pub injected: Box<[(&'static str, u32)]>,
}

/// Lays out the given (instance) fields of a file behind those of its superclass.
pub fn instance_layout(
    file: &ClassFile,
    fields: &[usize],
    super_klass: Option<KlassRef>,
    is_boot: bool,
    slot_bytes: u32,
) -> InstanceLayout {
    let parent = super_klass.map(|s| s.inst());
    let is_injected =
        |(class, _, _): &&(&str, &str, BasicType)| is_boot && class.as_bytes() == file.name.bytes();
    let extra: Vec<_> = INJECTED.iter().filter(is_injected).collect();
    let declared = fields.iter().map(|i| field_type(&file.fields[*i]));
    let types: Vec<BasicType> = declared.chain(extra.iter().map(|(_, _, ty)| *ty)).collect();
    let mut placer =
        parent.map_or_else(|| FieldPlacer::new(first_field() as u32), |p| p.placer.clone());
    let mut offsets = placer.place(&types, slot_bytes);
    let is_reference_class = is_boot && file.name.bytes() == b"java/lang/ref/Reference";
    // The collector treats these two itself (`gc::object::layout::ReferenceFields`).
    let is_special = |index: usize| {
        let name = fields.get(index).map(|i| file.fields[*i].name.bytes());
        is_reference_class && matches!(name, Some(b"referent" | b"discovered"))
    };
    let mut refs = parent.map_or(Vec::new(), |p| p.refs.to_vec());
    let own = types.iter().enumerate().filter(|(i, ty)| ty.is_reference() && !is_special(*i));
    refs.extend(own.map(|(i, _)| offsets[i]));
    refs.sort_unstable();
    let injected = extra.iter().zip(offsets.split_off(fields.len()));
    let injected = injected.map(|((_, name, _), offset)| (*name, offset)).collect();
    InstanceLayout { offsets, placer, refs: refs.into_boxed_slice(), injected }
}

/// Places static fields from `start` on, references first. Returns how many references, and the end.
fn place_statics(
    file: &ClassFile,
    statics: &[usize],
    start: u32,
    slot_bytes: u32,
    offsets: &mut [u32],
) -> (u32, u32) {
    let is_reference = |i: &&usize| field_type(&file.fields[**i]).is_reference();
    let mut end = start;
    for field in statics.iter().filter(is_reference) {
        offsets[*field] = end;
        end += slot_bytes;
    }
    let static_refs = (end - start) / slot_bytes;
    let others: Vec<usize> = statics.iter().filter(|i| !is_reference(i)).copied().collect();
    let types: Vec<BasicType> = others.iter().map(|i| field_type(&file.fields[*i])).collect();
    let mut placer = FieldPlacer::new(end);
    for (field, offset) in others.iter().zip(placer.place(&types, slot_bytes)) {
        offsets[*field] = offset;
    }
    (static_refs, placer.end())
}

fn reference_kind(name: Symbol, parent: Option<KlassRef>, is_boot: bool) -> ReferenceKind {
    match name.bytes() {
        b"java/lang/ref/SoftReference" if is_boot => ReferenceKind::Soft,
        b"java/lang/ref/WeakReference" if is_boot => ReferenceKind::Weak,
        b"java/lang/ref/FinalReference" if is_boot => ReferenceKind::Final,
        b"java/lang/ref/PhantomReference" if is_boot => ReferenceKind::Phantom,
        _ => parent.map_or(ReferenceKind::Strong, |p| p.inst().reference_kind),
    }
}

fn field_type(field: &FieldInfo) -> BasicType {
    let parsed = FieldType::parse(field.descriptor.bytes());
    parsed.unwrap_or_else(|| panic!("unchecked field descriptor {}", field.descriptor)).basic
}

/// A `void finalize()` with a body that does something, in a class other than `Object`.
fn has_finalizer(file: &ClassFile, parent: Option<KlassRef>) -> bool {
    let Some(parent) = parent else {
        return false;
    };
    let is_finalizer = |m: &&MethodInfo| {
        m.name.bytes() == b"finalize"
            && m.descriptor.bytes() == b"()V"
            && !m.access_flags.is_static()
    };
    match file.methods.iter().find(is_finalizer) {
        // A lone `return` is an empty body.
        Some(method) => method.code.as_ref().is_none_or(|code| code.bytecode.len() > 1),
        None => parent.has_finalizer,
    }
}

fn add_members(t: &JavaThread, klass: KlassRef, shape: &Shape) {
    let instance = klass.inst();
    // SAFETY: the class is leaked: its file lives as long as the VM.
    let file: &'static ClassFile = unsafe { &*std::ptr::from_ref(&instance.file) };
    let fields =
        file.fields.iter().zip(&shape.offsets).enumerate().map(|(slot, (info, offset))| {
            let field = Field {
                holder: klass,
                info,
                ty: field_type(info),
                offset: *offset,
                slot: slot as u32,
                settling: settling(&t.vm.options.jit, klass, info),
                is_exposed: AtomicBool::new(false),
            };
            &*Box::leak(Box::new(field))
        });
    let methods = file
        .methods
        .iter()
        .enumerate()
        .map(|(slot, info)| &*Box::leak(Box::new(make_method(t, klass, info, slot as u32))));
    assert!(instance.fields.set(fields.collect()).is_ok(), "fields of {klass:?} set twice");
    assert!(instance.methods.set(methods.collect()).is_ok(), "methods of {klass:?} set twice");
}

fn settling(options: &JitOptions, klass: KlassRef, info: &FieldInfo) -> Settling {
    /// Since when only constructors may set final fields.
    const STRICT_SINCE: u16 = 53;
    let flags = info.access_flags;
    let is_final =
        flags.is_final() && !flags.is_static() && klass.inst().file.major_version >= STRICT_SINCE;
    if !is_final || !options.trusts_final_fields {
        return Settling::Never;
    }
    if klass.loader.is_boot() && is_set_by_vm(klass, info) {
        return Settling::Never;
    }
    if klass.loader.is_boot() || info.is_synthetic || klass.is_hidden() || klass.is_record() {
        return Settling::Always;
    }
    match options.compiles_everything {
        // Code is compiled before the program could have used reflection.
        true => Settling::Never,
        false => Settling::UntilExposed,
    }
}

/// Whether a final field of the library gets other values from the VM: `MutableCallSite.setTarget` has it set this one.
fn is_set_by_vm(klass: KlassRef, info: &FieldInfo) -> bool {
    klass.name.bytes() == b"java/lang/invoke/CallSite" && info.name.bytes() == b"target"
}

fn make_method(t: &JavaThread, klass: KlassRef, info: &'static MethodInfo, slot: u32) -> Method {
    let descriptor = MethodDescriptor::of(info.descriptor);
    let parameters: Box<[BasicType]> = descriptor.parameters().map(|p| p.basic).collect();
    // Native and abstract methods have locals for their arguments only.
    let (max_locals, max_stack) = info
        .code
        .as_ref()
        .map_or((info.argument_slots, 0), |code| (code.max_locals, code.max_stack));
    let trusted = klass.loader.is_boot() || t.vm.known.is_platform_loader(klass.loader);
    let marks = if trusted || klass.is_hidden() { info.marks } else { MethodMarks::empty() };
    Method {
        holder: klass,
        info,
        slot,
        argument_slots: info.argument_slots,
        max_locals,
        max_stack,
        parameters,
        return_type: descriptor.result.basic,
        marks,
        intrinsic: intrinsic(klass, info),
        vtable_index: AtomicI32::new(NOT_VIRTUAL),
        itable_index: AtomicI32::new(NOT_VIRTUAL),
        quick_code: AtomicPtr::new(std::ptr::null_mut()),
        native: AtomicPtr::new(std::ptr::null_mut()),
        entry: AtomicU8::new(0),
        jit: MethodJit::new(t.vm.jit.interpreter()),
        oop_maps: OnceLock::new(),
    }
}

/// Signature-polymorphic methods: native varargs of `MethodHandle` and `VarHandle` that take one `Object[]`
/// (JVMS 2.9.3), and the linkers, which are native and static.
fn intrinsic(klass: KlassRef, info: &MethodInfo) -> Intrinsic {
    let is_handle = klass.name.bytes() == b"java/lang/invoke/MethodHandle";
    let is_var = klass.name.bytes() == b"java/lang/invoke/VarHandle";
    let wanted = AccessFlags::NATIVE | AccessFlags::VARARGS;
    if !klass.loader.is_boot() || !(is_handle || is_var) || !info.access_flags.contains(wanted) {
        return Intrinsic::None;
    }
    match info.name.bytes() {
        b"invokeBasic" => Intrinsic::InvokeBasic,
        b"linkToVirtual" => Intrinsic::LinkToVirtual,
        b"linkToStatic" => Intrinsic::LinkToStatic,
        b"linkToSpecial" => Intrinsic::LinkToSpecial,
        b"linkToInterface" => Intrinsic::LinkToInterface,
        b"linkToNative" => Intrinsic::LinkToNative,
        _ => Intrinsic::Generic,
    }
}
