//! Gives `libjvm.so` the SONAME that the JDK's native libraries ask for in their DT_NEEDED entries.

fn main() {
    println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libjvm.so");
    println!("cargo:rerun-if-changed=build.rs");
}
