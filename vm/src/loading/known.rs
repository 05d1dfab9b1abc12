//! Classes and fields of the class library that the VM itself uses. Found once while the VM starts; asking
//! for one before that panics with its name.

use crate::runtime::{KlassRef, LoaderData};
use classfile::BasicType;
use std::sync::OnceLock;

macro_rules! known_classes {
    ($($name:ident = $class:literal),* $(,)?) => {
        /// Classes of the boot loader, by the names below.
        #[derive(Default)]
        pub struct KnownClasses { $($name: OnceLock<KlassRef>,)* }

        impl KnownClasses {
            $(
                #[inline]
                pub fn $name(&self) -> KlassRef {
                    self.$name.get().copied().expect(concat!($class, " is loaded by now"))
                }
            )*

            /// Name and cell of each, in the order in which they are loaded.
            pub(crate) fn all(&self) -> Vec<(&'static str, &OnceLock<KlassRef>)> {
                vec![$(($class, &self.$name)),*]
            }
        }
    };
}

macro_rules! known_fields {
    ($($name:ident = $class:literal . $field:literal : $descriptor:literal),* $(,)?) => {
        /// Byte offsets of fields, in the object or (statics) in the mirror.
        #[derive(Default)]
        pub struct KnownFields { $($name: OnceLock<u32>,)* }

        impl KnownFields {
            $(
                #[inline]
                pub fn $name(&self) -> usize {
                    *self.$name.get().expect(concat!($class, ".", $field, " is known by now")) as usize
                }
            )*

            /// Class, field, descriptor and cell of each.
            pub(crate) fn all(&self) -> Vec<(&'static str, &'static str, &'static str, &OnceLock<u32>)> {
                vec![$(($class, $field, $descriptor, &self.$name)),*]
            }
        }
    };
}

known_classes! {
    object = "java/lang/Object",
    class = "java/lang/Class",
    serializable = "java/io/Serializable",
    cloneable = "java/lang/Cloneable",
    string = "java/lang/String",
    class_loader = "java/lang/ClassLoader",
    throwable = "java/lang/Throwable",
    error = "java/lang/Error",
    stack_trace_element = "java/lang/StackTraceElement",
    thread = "java/lang/Thread",
    thread_group = "java/lang/ThreadGroup",
    system = "java/lang/System",
    module = "java/lang/Module",
    reference = "java/lang/ref/Reference",
    soft_reference = "java/lang/ref/SoftReference",
    weak_reference = "java/lang/ref/WeakReference",
    final_reference = "java/lang/ref/FinalReference",
    phantom_reference = "java/lang/ref/PhantomReference",
    finalizer = "java/lang/ref/Finalizer",
    reflect_method = "java/lang/reflect/Method",
    reflect_field = "java/lang/reflect/Field",
    reflect_constructor = "java/lang/reflect/Constructor",
    magic_accessor = "jdk/internal/reflect/MagicAccessorImpl",
    constant_pool = "jdk/internal/reflect/ConstantPool",
    method_handle = "java/lang/invoke/MethodHandle",
    var_handle = "java/lang/invoke/VarHandle",
    member_name = "java/lang/invoke/MemberName",
    resolved_method_name = "java/lang/invoke/ResolvedMethodName",
    method_handle_natives = "java/lang/invoke/MethodHandleNatives",
    lambda_form = "java/lang/invoke/LambdaForm",
    method_type = "java/lang/invoke/MethodType",
    call_site = "java/lang/invoke/CallSite",
    stack_frame_info = "java/lang/StackFrameInfo",
    unsafe_constants = "jdk/internal/misc/UnsafeConstants",
    boolean_box = "java/lang/Boolean",
    character_box = "java/lang/Character",
    float_box = "java/lang/Float",
    double_box = "java/lang/Double",
    byte_box = "java/lang/Byte",
    short_box = "java/lang/Short",
    integer_box = "java/lang/Integer",
    long_box = "java/lang/Long",
}

known_fields! {
    string_value = "java/lang/String"."value":"[B",
    string_coder = "java/lang/String"."coder":"B",
    string_hash = "java/lang/String"."hash":"I",
    class_loader_of_class = "java/lang/Class"."classLoader":"Ljava/lang/ClassLoader;",
    class_module = "java/lang/Class"."module":"Ljava/lang/Module;",
    class_component = "java/lang/Class"."componentType":"Ljava/lang/Class;",
    class_data = "java/lang/Class"."classData":"Ljava/lang/Object;",
    class_name = "java/lang/Class"."name":"Ljava/lang/String;",
    loader_parent = "java/lang/ClassLoader"."parent":"Ljava/lang/ClassLoader;",
    loader_name = "java/lang/ClassLoader"."name":"Ljava/lang/String;",
    loader_name_and_id = "java/lang/ClassLoader"."nameAndId":"Ljava/lang/String;",
    loader_lock_map = "java/lang/ClassLoader"."parallelLockMap":"Ljava/util/concurrent/ConcurrentHashMap;",
    loader_unnamed_module = "java/lang/ClassLoader"."unnamedModule":"Ljava/lang/Module;",
    throwable_backtrace = "java/lang/Throwable"."backtrace":"Ljava/lang/Object;",
    throwable_message = "java/lang/Throwable"."detailMessage":"Ljava/lang/String;",
    throwable_cause = "java/lang/Throwable"."cause":"Ljava/lang/Throwable;",
    throwable_stack_trace = "java/lang/Throwable"."stackTrace":"[Ljava/lang/StackTraceElement;",
    throwable_depth = "java/lang/Throwable"."depth":"I",
    thread_eetop = "java/lang/Thread"."eetop":"J",
    thread_name = "java/lang/Thread"."name":"Ljava/lang/String;",
    thread_group = "java/lang/Thread"."group":"Ljava/lang/ThreadGroup;",
    group_parent = "java/lang/ThreadGroup"."parent":"Ljava/lang/ThreadGroup;",
    group_name = "java/lang/ThreadGroup"."name":"Ljava/lang/String;",
    thread_priority = "java/lang/Thread"."priority":"I",
    thread_daemon = "java/lang/Thread"."daemon":"Z",
    thread_stillborn = "java/lang/Thread"."stillborn":"Z",
    thread_status = "java/lang/Thread"."threadStatus":"I",
    thread_stack_size = "java/lang/Thread"."stackSize":"J",
    thread_tid = "java/lang/Thread"."tid":"J",
    thread_interrupted = "java/lang/Thread"."interrupted":"Z",
    thread_context_loader = "java/lang/Thread"."contextClassLoader":"Ljava/lang/ClassLoader;",
    thread_acc = "java/lang/Thread"."inheritedAccessControlContext":"Ljava/security/AccessControlContext;",
    reference_referent = "java/lang/ref/Reference"."referent":"Ljava/lang/Object;",
    reference_discovered = "java/lang/ref/Reference"."discovered":"Ljava/lang/ref/Reference;",
    reference_next = "java/lang/ref/Reference"."next":"Ljava/lang/ref/Reference;",
    soft_timestamp = "java/lang/ref/SoftReference"."timestamp":"J",
    soft_clock = "java/lang/ref/SoftReference"."clock":"J",
    module_name = "java/lang/Module"."name":"Ljava/lang/String;",
    module_loader = "java/lang/Module"."loader":"Ljava/lang/ClassLoader;",
    method_slot = "java/lang/reflect/Method"."slot":"I",
    method_class = "java/lang/reflect/Method"."clazz":"Ljava/lang/Class;",
    constructor_slot = "java/lang/reflect/Constructor"."slot":"I",
    constructor_class = "java/lang/reflect/Constructor"."clazz":"Ljava/lang/Class;",
    field_slot = "java/lang/reflect/Field"."slot":"I",
    field_class = "java/lang/reflect/Field"."clazz":"Ljava/lang/Class;",
    method_handle_form = "java/lang/invoke/MethodHandle"."form":"Ljava/lang/invoke/LambdaForm;",
    method_handle_type = "java/lang/invoke/MethodHandle"."type":"Ljava/lang/invoke/MethodType;",
    lambda_form_entry = "java/lang/invoke/LambdaForm"."vmentry":"Ljava/lang/invoke/MemberName;",
    member_class = "java/lang/invoke/MemberName"."clazz":"Ljava/lang/Class;",
    member_name = "java/lang/invoke/MemberName"."name":"Ljava/lang/String;",
    member_type = "java/lang/invoke/MemberName"."type":"Ljava/lang/Object;",
    member_flags = "java/lang/invoke/MemberName"."flags":"I",
    member_method = "java/lang/invoke/MemberName"."method":"Ljava/lang/invoke/ResolvedMethodName;",
    method_type_rtype = "java/lang/invoke/MethodType"."rtype":"Ljava/lang/Class;",
    method_type_ptypes = "java/lang/invoke/MethodType"."ptypes":"[Ljava/lang/Class;",
    mirror_klass_id = "java/lang/Class"."klass_id":"",
    mirror_bytes = "java/lang/Class"."mirror_bytes":"",
    mirror_static_refs = "java/lang/Class"."static_refs":"",
    mirror_protection_domain = "java/lang/Class"."protection_domain":"",
    mirror_signers = "java/lang/Class"."signers":"",
    mirror_source = "java/lang/Class"."source":"",
    loader_id = "java/lang/ClassLoader"."loader_id":"",
    loader_anchor = "java/lang/ClassLoader"."anchor":"",
    module_id = "java/lang/Module"."module_id":"",
    member_vmindex = "java/lang/invoke/MemberName"."vmindex":"",
    resolved_vmholder = "java/lang/invoke/ResolvedMethodName"."vmholder":"",
    resolved_vmtarget = "java/lang/invoke/ResolvedMethodName"."vmtarget":"",
    frame_info_version = "java/lang/StackFrameInfo"."version":"",
}

/// All known classes and fields of the library.
#[derive(Default)]
pub struct Known {
    pub classes: KnownClasses,
    pub fields: KnownFields,
    statics_start: OnceLock<u32>,
    primitives: [OnceLock<KlassRef>; PRIMITIVES],
    primitive_arrays: [OnceLock<KlassRef>; PRIMITIVES],
    object_array: OnceLock<KlassRef>,
    /// `java.lang.Class`, set when its field offsets are known.
    mirrors_ready: OnceLock<KlassRef>,
    /// Set once the module system is up.
    pub(crate) platform_loader: OnceLock<&'static LoaderData>,
    pub(crate) system_loader: OnceLock<&'static LoaderData>,
}

impl Known {
    /// The class of `int`, `void`, ...; panics for references.
    pub fn primitive(&self, ty: BasicType) -> KlassRef {
        self.primitives[primitive_index(ty)].get().copied().expect("primitive classes exist by now")
    }

    /// The class of `int[]`, ...
    pub fn primitive_array(&self, element: BasicType) -> KlassRef {
        let cell = &self.primitive_arrays[primitive_index(element)];
        cell.get().copied().expect("primitive array classes exist by now")
    }

    /// The class of `Object[]`.
    pub fn object_array(&self) -> KlassRef {
        self.object_array.get().copied().expect("Object[] exists by now")
    }

    /// Offset of the injected class id in a mirror.
    #[inline]
    pub fn mirror_klass_id(&self) -> usize {
        self.fields.mirror_klass_id()
    }

    /// `java.lang.Class`, once mirrors can be made.
    pub(super) fn class_of_mirrors(&self) -> Option<KlassRef> {
        self.mirrors_ready.get().copied()
    }

    /// Where static fields begin in a mirror, bytes; aligned for references.
    pub fn statics_start(&self) -> Option<u32> {
        self.statics_start.get().copied()
    }

    pub fn is_platform_loader(&self, loader: &'static LoaderData) -> bool {
        self.platform_loader.get().is_some_and(|known| *known == loader)
    }

    pub fn is_system_loader(&self, loader: &'static LoaderData) -> bool {
        self.system_loader.get().is_some_and(|known| *known == loader)
    }

    pub(crate) fn set_statics_start(&self, bytes: u32) {
        assert!(self.statics_start.set(bytes).is_ok(), "mirrors laid out twice");
    }

    pub(crate) fn set_mirrors_ready(&self, class: KlassRef) {
        assert!(self.mirrors_ready.set(class).is_ok(), "java.lang.Class known twice");
    }

    pub(super) fn set_primitive(&self, ty: BasicType, klass: KlassRef, array: Option<KlassRef>) {
        let index = primitive_index(ty);
        assert!(self.primitives[index].set(klass).is_ok(), "{klass:?} made twice");
        if let Some(array) = array {
            assert!(self.primitive_arrays[index].set(array).is_ok(), "{array:?} made twice");
        }
    }

    pub(crate) fn set_object_array(&self, klass: KlassRef) {
        assert!(self.object_array.set(klass).is_ok(), "Object[] made twice");
    }
}

/// All primitive types, `void` last.
pub const PRIMITIVE_TYPES: [BasicType; PRIMITIVES] = [
    BasicType::Boolean,
    BasicType::Char,
    BasicType::Float,
    BasicType::Double,
    BasicType::Byte,
    BasicType::Short,
    BasicType::Int,
    BasicType::Long,
    BasicType::Void,
];

const PRIMITIVES: usize = 9;

fn primitive_index(ty: BasicType) -> usize {
    let index = PRIMITIVE_TYPES.iter().position(|known| *known == ty);
    index.unwrap_or_else(|| panic!("{ty:?} is not primitive"))
}
