//! One run of a program of which a memory server is killed at a moment that a seed chooses.
//!
//! Half of the moments are times within the length of an undisturbed run; the others are lines of the collector's
//! log, up to 5 ms behind them, so that every phase of a cycle is hit often.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::process::{kill, kill_group};
use crate::harness::rng::Rng;
use crate::harness::scratch::Scratch;

/// The outcome of a run.
#[derive(Debug)]
pub struct Survival {
    /// Exit code; `None` after a signal, or after the limit.
    pub code: Option<i32>,
    /// Standard output without the collector's log.
    pub output: Vec<String>,
    pub log: Vec<String>,
    pub errors: String,
    pub wall: Duration,
    /// The kill: its moment in words, and how long the VM lived on. `None`: the program ended before.
    pub killed: Option<(String, Duration)>,
}

impl Survival {
    /// The VM's own messages about its servers on standard error, by line. The program may have begun the line; a
    /// server that is lost at once is a reason not to begin.
    pub fn farewell(&self) -> Vec<&str> {
        let mut all = Vec::new();
        for line in self.errors.lines() {
            let said = line.split_once("farheap: ").map(|(_, said)| said);
            all.extend(said.or_else(|| line.strip_prefix("memory servers: ")));
        }
        all
    }
}

/// When a server is killed.
#[derive(Clone, Debug)]
enum Moment {
    After(Duration),
    /// So long after the n-th line of the log.
    Line {
        count: usize,
        delay: Duration,
    },
}

impl Moment {
    fn choose(rng: &mut Rng, undisturbed: &Survival) -> Moment {
        if rng.chance(50) || undisturbed.log.is_empty() {
            return Moment::After(undisturbed.wall.mul_f64(rng.below(1000) as f64 / 1000.0));
        }
        let delay = Duration::from_micros(rng.below(5000) as u64);
        Moment::Line { count: rng.between(1, undisturbed.log.len()), delay }
    }
}

impl std::fmt::Display for Moment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Moment::After(time) => write!(f, "after {} ms", time.as_millis()),
            Moment::Line { count, delay } => {
                write!(f, "{} us after line {count} of the log", delay.as_micros())
            }
        }
    }
}

/// Runs a VM that logs its collections (`-Xlog:gc*`) for at most `limit`. The seed chooses a server and a moment, by
/// a run of the program without a kill; without one nothing is killed.
pub fn run(
    mut command: Command,
    disturb: Option<(u64, &Survival)>,
    limit: Duration,
) -> io::Result<Survival> {
    let scratch = Scratch::new("survive")?;
    let errors = scratch.path().join("stderr");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(File::create(&errors)?);
    command.process_group(0);
    let disturb = disturb.map(|(seed, undisturbed)| {
        let mut rng = Rng::new(seed);
        (Moment::choose(&mut rng, undisturbed), rng.below(1 << 16))
    });
    let began = Instant::now();
    let running = Running(command.spawn()?);
    Watched { running, began, limit, disturb }.watch(&errors)
}

/// Ends with all its servers when dropped.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            // Not reaped yet, so the group is still its own. Its servers end with it.
            kill_group(self.0.id());
            let _ = self.0.wait();
        }
    }
}

struct Watched {
    running: Running,
    began: Instant,
    limit: Duration,
    /// When, and which server.
    disturb: Option<(Moment, usize)>,
}

impl Watched {
    fn watch(mut self, errors: &std::path::Path) -> io::Result<Survival> {
        let (sender, lines) = mpsc::channel();
        let stdout = self.running.0.stdout.take().expect("it is piped");
        let reader = thread::spawn(move || {
            for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
                if sender.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        });
        let (mut output, mut log) = (Vec::new(), Vec::new());
        let victim = self.disturb.as_ref().map_or(0, |(_, victim)| *victim);
        let mut due = match &self.disturb {
            Some((Moment::After(time), _)) => Some(self.began + *time),
            _ => None,
        };
        let mut killed_at = None;
        let deadline = self.began + self.limit;
        let is_over = loop {
            let now = Instant::now();
            if now > deadline {
                break false;
            }
            if killed_at.is_none() && due.is_some_and(|due| now >= due) {
                // Without a server yet, or with none any more, there is nothing to kill.
                if kill_server(self.running.0.id(), victim) {
                    killed_at = Some(Instant::now());
                }
                due = None;
            }
            let until = due.unwrap_or(deadline).saturating_duration_since(now);
            match lines.recv_timeout(until.min(Duration::from_millis(500))) {
                Ok(line) if line.starts_with('[') => {
                    log.push(line);
                    if let Some((Moment::Line { count, delay }, _)) = &self.disturb
                        && log.len() == *count
                    {
                        due = Some(Instant::now() + *delay);
                    }
                }
                Ok(line) => output.push(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break self.await_exit(deadline)?,
            }
        };
        let ended = Instant::now();
        let code = if is_over { self.running.0.wait()?.code() } else { None };
        drop(self.running);
        let _ = reader.join();
        let moment = self.disturb.map(|(moment, _)| moment.to_string()).unwrap_or_default();
        let killed = killed_at.map(|at| (moment, ended - at));
        let errors = String::from_utf8_lossy(&std::fs::read(errors)?).into_owned();
        Ok(Survival { code, output, log, errors, wall: ended - self.began, killed })
    }

    /// Its standard output is closed; says whether it ended in time.
    fn await_exit(&mut self, deadline: Instant) -> io::Result<bool> {
        while self.running.0.try_wait()?.is_none() {
            if Instant::now() > deadline {
                return Ok(false);
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(true)
    }
}

/// Kills one of the memory servers that a process has started. False when there is none.
fn kill_server(parent: u32, victim: usize) -> bool {
    let mut servers: Vec<u32> =
        children(parent).into_iter().filter(|pid| is_server(*pid)).collect();
    servers.sort_unstable();
    if servers.is_empty() {
        return false;
    }
    kill(servers[victim % servers.len()]);
    true
}

fn children(parent: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lists
        .flat_map(|list| list.split(' ').filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn is_server(pid: u32) -> bool {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name.trim_end() == "memory-server")
}
