//! The machine that code is made for: this one.

use cranelift_codegen::isa::OwnedTargetIsa;
use cranelift_codegen::settings::{self, Configurable};
use std::sync::OnceLock;

/// The code generator's description of this machine, made once.
pub fn host() -> OwnedTargetIsa {
    static HOST: OnceLock<OwnedTargetIsa> = OnceLock::new();
    HOST.get_or_init(|| make("speed")).clone()
}

/// The same, without optimization.
pub fn host_for_quick_code() -> OwnedTargetIsa {
    static HOST: OnceLock<OwnedTargetIsa> = OnceLock::new();
    HOST.get_or_init(|| make("none")).clone()
}

/// Whether the code generator has an instruction for `fma`. Else it would call a function that it does not know.
pub fn has_fma() -> bool {
    std::is_x86_feature_detected!("avx") && std::is_x86_feature_detected!("fma")
}

fn make(opt_level: &str) -> OwnedTargetIsa {
    let mut flags = settings::builder();
    for (name, value) in FLAGS {
        flags.set(name, value).expect("flags of the pinned release");
    }
    flags.set("opt_level", opt_level).expect("a flag of the pinned release");
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    flags.set("enable_verifier", verify).expect("a flag of the pinned release");
    let builder = cranelift_native::builder().expect("an x86-64 machine");
    builder.finish(settings::Flags::new(flags)).expect("flags that the machine has")
}

const FLAGS: [(&str, &str); 7] = [
    ("enable_pinned_reg", "true"),
    ("preserve_frame_pointers", "true"),
    ("is_pic", "false"),
    ("unwind_info", "false"),
    ("enable_probestack", "false"),
    ("enable_heap_access_spectre_mitigation", "false"),
    ("enable_table_access_spectre_mitigation", "false"),
];
