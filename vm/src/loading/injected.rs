//! Fields that the VM adds to classes of the library.

use classfile::BasicType;

/// Class, name, type. Java code does not see them.
pub const INJECTED: &[(&str, &str, BasicType)] = &[
    ("java/lang/Class", "klass_id", BasicType::Int),
    ("java/lang/Class", "mirror_bytes", BasicType::Int),
    ("java/lang/Class", "static_refs", BasicType::Int),
    ("java/lang/Class", "protection_domain", BasicType::Object),
    ("java/lang/Class", "signers", BasicType::Array),
    ("java/lang/Class", "source", BasicType::Object),
    ("java/lang/ClassLoader", "loader_id", BasicType::Int),
    ("java/lang/ClassLoader", "anchor", BasicType::Object),
    ("java/lang/Module", "module_id", BasicType::Int),
    ("java/lang/invoke/MemberName", "vmindex", BasicType::Long),
    ("java/lang/invoke/ResolvedMethodName", "vmholder", BasicType::Object),
    ("java/lang/invoke/ResolvedMethodName", "vmtarget", BasicType::Long),
    ("java/lang/StackFrameInfo", "version", BasicType::Short),
];
