//! Natives of features that this VM does not have: they say so, as a HotSpot built without them does.

use crate::ffi::registry::{Arguments, Native, NativeTable, entry};
use crate::jvm::system::nano_time;
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

/// Flight recorder: `isAvailable` is all that `jdk.jfr` asks before it gives up.
pub static FLIGHT_RECORDER: NativeTable = NativeTable {
    class: "jdk/jfr/internal/JVM",
    entries: &[
        entry("isAvailable", "()Z", Native::Direct(nothing)),
        entry("isRecording", "()Z", Native::Direct(nothing)),
        entry("createJFR", "", Native::Direct(nothing)),
        entry("destroyJFR", "", Native::Direct(nothing)),
        entry("getEventWriter", "", Native::Direct(nothing)),
        entry("log", "", Native::Direct(nothing)),
        entry("logEvent", "", Native::Direct(nothing)),
        entry("subscribeLogLevel", "", Native::Direct(nothing)),
        entry("counterTime", "()J", Native::Direct(|_, _| Ok(nano_time() as u64))),
        entry("getTicksFrequency", "()J", Native::Direct(|_, _| Ok(1_000_000_000))),
    ],
};

fn nothing(_t: &JavaThread, _args: Arguments) -> JResult<u64> {
    Ok(0)
}

fn no_linker(t: &JavaThread, _args: Arguments) -> JResult<u64> {
    errors::fail(t, "java/lang/UnsupportedOperationException", "no foreign linker")
}
