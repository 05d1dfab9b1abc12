//! The data model: classes, methods, constants, threads, handles, exceptions.
pub mod commands;
pub mod constant_handle;
pub mod constants;
pub mod field_placer;
pub mod handle;
pub mod headers;
pub mod holder;
pub mod klass;
pub mod loader;
pub mod memory;
pub mod method;
pub mod object;
pub mod pool;
pub mod root_table;
pub mod throw;
pub mod weak_table;

pub use handle::Handle;
pub use holder::ClassHolder;
pub use klass::{Field, Klass, KlassKind, KlassRef};
pub use loader::LoaderData;
pub use method::{Method, MethodRef};
pub use throw::{JResult, Throw};

pub type FieldRef = &'static Field;
pub mod code;
pub mod slots;
