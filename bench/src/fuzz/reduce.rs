//! Makes a program that fails smaller, as long as it fails.

use std::io;
use std::path::Path;

use super::judge::{Judge, Mode};
use super::program::Program;
use super::tree::{self, Part};
use crate::compiler::Compiler;
use crate::scratch::Scratch;

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

/// Tries to leave out each run of `piece` parts, from the end to the front: what is used comes before its users.
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

/// Writes the programs and their driver to `folder`, which must hold no other sources, and compiles them.
pub fn compile(
    compiler: &Compiler,
    programs: &[&Program],
    folder: &Path,
    classes: &Path,
) -> io::Result<()> {
    let names: Vec<String> = programs.iter().map(|program| program.name.clone()).collect();
    if names.len() > 1 {
        let driver = folder.join(format!("{}.java", super::judge::DRIVER_CLASS));
        std::fs::write(&driver, Judge::driver(&names))?;
    }
    for program in programs {
        std::fs::write(folder.join(format!("{}.java", program.name)), program.source())?;
    }
    compiler.compile(folder, classes)
}
