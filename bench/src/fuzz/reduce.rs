//! Makes a program that fails smaller, as long as it fails.

use std::io;
use std::path::Path;

use super::bytecode::{self, Limits};
use super::judge::{Judge, Mode};
use super::program::Program;
use super::tree::{self, Part};
use crate::harness::scratch::Scratch;
use crate::java::compiler::Compiler;

/// Leaves out parts, in ever smaller pieces, while the program still compiles and still differs in `mode`.
pub fn reduce(
    judge: &Judge,
    compiler: &Compiler,
    program: &Program,
    mode: &Mode,
) -> io::Result<Program> {
    let mut best = program.clone();
    loop {
        let before = tree::count(&best.parts);
        let mut piece = (before / 2).max(1);
        loop {
            sweep(judge, compiler, &mut best, mode, piece)?;
            if piece == 1 {
                break;
            }
            piece /= 2;
        }
        unwrap_nests(judge, compiler, &mut best, mode)?;
        if tree::count(&best.parts) == before {
            return Ok(best);
        }
    }
}

/// Tries to leave out each run of `piece` parts, from the end to the front: definitions come before their users.
fn sweep(
    judge: &Judge,
    compiler: &Compiler,
    best: &mut Program,
    mode: &Mode,
    piece: usize,
) -> io::Result<()> {
    let mut end = tree::count(&best.parts);
    while end > 0 {
        let start = end.saturating_sub(piece);
        let parts = tree::without(&best.parts, start, end);
        keep_if_it_differs(judge, compiler, best, mode, parts)?;
        end = start;
    }
    Ok(())
}

/// Tries to replace each statement with statements inside by these.
fn unwrap_nests(
    judge: &Judge,
    compiler: &Compiler,
    best: &mut Program,
    mode: &Mode,
) -> io::Result<()> {
    let mut at = tree::count(&best.parts);
    while at > 0 {
        at -= 1;
        if let Some(parts) = tree::unwrapped(&best.parts, at) {
            keep_if_it_differs(judge, compiler, best, mode, parts)?;
        }
    }
    Ok(())
}

fn keep_if_it_differs(
    judge: &Judge,
    compiler: &Compiler,
    best: &mut Program,
    mode: &Mode,
    parts: Vec<Part>,
) -> io::Result<()> {
    let candidate = Program { name: best.name.clone(), parts };
    if tree::count(&candidate.parts) < tree::count(&best.parts) {
        let scratch = Scratch::new("fuzz-reduce")?;
        let classes = scratch.folder("classes")?;
        if compile(compiler, &[&candidate], scratch.path(), &classes).is_ok()
            && judge.differs(&candidate.name, mode, &classes)?
        {
            *best = candidate;
        }
    }
    Ok(())
}

/// The least number of instructions in each block with which the generated class still differs in `mode`; `classes`
/// holds the class and those that it needs, and at the end the small one.
pub fn reduce_class(
    judge: &Judge,
    name: &str,
    seed: u64,
    mode: &Mode,
    classes: &Path,
) -> io::Result<Limits> {
    let file = classes.join(format!("{name}.class"));
    let (_, blocks) = bytecode::generate(name, seed, &Limits::new());
    let mut best = Limits::new();
    for limit in [0, 1, 2, 4, 8, 16] {
        for (method, count) in blocks.iter().enumerate() {
            for block in 0..*count {
                if best.contains_key(&(method, block)) {
                    continue;
                }
                let mut limits = best.clone();
                limits.insert((method, block), limit);
                std::fs::write(&file, bytecode::generate(name, seed, &limits).0)?;
                if judge.differs(name, mode, classes)? {
                    best = limits;
                }
            }
        }
    }
    std::fs::write(&file, bytecode::generate(name, seed, &best).0)?;
    Ok(best)
}

/// Writes the programs to `folder`, which must hold no other sources but may hold their driver, and compiles them.
pub fn compile(
    compiler: &Compiler,
    programs: &[&Program],
    folder: &Path,
    classes: &Path,
) -> io::Result<()> {
    for program in programs {
        std::fs::write(folder.join(format!("{}.java", program.name)), program.source())?;
    }
    compiler.compile(folder, classes)
}
