//! Natives of features that this VM does not have: they say so, as a HotSpot built without them does.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::loading::errors;
use crate::machine::JavaThread;
use crate::runtime::JResult;

/// No vector intrinsics: -1 lanes for every element type.
pub static VECTORS: NativeTable = NativeTable {
    class: "jdk/internal/vm/vector/VectorSupport",
    entries: &[
        entry("registerNatives", "()I", Native::Direct(nothing)),
        entry("getMaxLaneCount", "", Native::Direct(|_, _| Ok(-1i64 as u64))),
    ],
};

/// The foreign linker of the incubator.
pub static FOREIGN_LINKER: NativeTable = NativeTable {
    class: "jdk/internal/invoke/NativeEntryPoint",
    entries: &[entry("vmStorageToVMReg", "", Native::Direct(no_linker))],
};

fn nothing(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

fn no_linker(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    errors::fail(t, "java/lang/UnsupportedOperationException", "no foreign linker")
}
