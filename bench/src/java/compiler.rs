//! A javac that stays: compiles source after source in one process, many times faster than a process for each.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::Mutex;

use crate::harness::scratch::Scratch;
use crate::java::jdk::{self, Jdk};

/// A running compiler; it can be shared and does one thing at a time.
pub struct Compiler {
    pipes: Mutex<Pipes>,
    child: Child,
    // Holds the classes of the compiler's driver.
    _scratch: Scratch,
}

struct Pipes {
    // Closed first of all, which ends the process.
    to: Option<ChildStdin>,
    from: BufReader<ChildStdout>,
}

impl Compiler {
    pub fn start(jdk: &Jdk) -> io::Result<Compiler> {
        let scratch = Scratch::new("compiler")?;
        let source = scratch.path().join("CompileServer.java");
        std::fs::write(&source, include_str!("../../java/CompileServer.java"))?;
        jdk.compile(&[source], scratch.path())?;
        let mut command = jdk.java();
        command.args(["-XX:+UseSerialGC", "-Xmx512m", "-cp"]).arg(scratch.path());
        command.arg("CompileServer").stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let to = child.stdin.take();
        let from = BufReader::new(child.stdout.take().expect("it was asked for"));
        Ok(Compiler { pipes: Mutex::new(Pipes { to, from }), child, _scratch: scratch })
    }

    /// Compiles all sources in `folder` into `classes`; classes that it already holds can be used. The error holds
    /// the compiler's messages.
    pub fn compile(&self, folder: &Path, classes: &Path) -> io::Result<()> {
        let mut line = classes.display().to_string();
        for source in jdk::sources(folder)? {
            line += &format!("\t{}", source.display());
        }
        let mut pipes = self.pipes.lock().expect("no thread panics while compiling");
        let to = pipes.to.as_mut().expect("open until the end");
        writeln!(to, "{line}")?;
        to.flush()?;
        let mut read = || {
            let mut line = String::new();
            match pipes.from.read_line(&mut line)? {
                0 => Err(io::Error::other("the compiler has ended")),
                _ => Ok(line),
            }
        };
        let count = read()?;
        let count: usize = count
            .trim()
            .parse()
            .map_err(|_| io::Error::other(format!("the compiler printed {count:?}")))?;
        let messages: io::Result<String> = (0..count).map(|_| read()).collect();
        match count {
            0 => Ok(()),
            _ => Err(io::Error::other(format!("javac: {}", messages?))),
        }
    }
}

impl Drop for Compiler {
    fn drop(&mut self) {
        if let Ok(pipes) = self.pipes.get_mut() {
            pipes.to = None;
        }
        let _ = self.child.wait();
    }
}
