//! Compiles the loops in C that `benches/barriers.rs` compares with.

fn main() {
    println!("cargo::rerun-if-changed=benches/walk.c");
    cc::Build::new().file("benches/walk.c").opt_level(2).compile("farheap_walk");
}
