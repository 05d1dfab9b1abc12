//! `vm`: runs Java programs on Farheap. A thin launcher over `libjvm.so`, which lies in the same
//! folder.

mod launcher;

fn main() {
    std::process::exit(launcher::main(std::env::args_os().skip(1).collect()))
}
